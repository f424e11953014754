import { withLinksOf } from '../../tools/package/packed-links'

const FILES = ['README.md', 'docs/a.md', 'docs/how-to/b.md', 'docs/a.svg']
const PAGE = `See [a](../a.md#why), [the how-tos](../how-to), ![a picture](../a.svg) and [there](https://example.com/c.md).
[ADR 33](../adr/0033-two.md#costs) of [\`code\`](../../lib/x.ts); ![the lab](../images/lab.webp). [up](#top)
\`\`\`md
[ADR 33](../adr/0033-two.md)
\`\`\`
\`[ADR 33](../adr/0033-two.md)\``

const links = (repository?: string | { url: string }) => withLinksOf(PAGE, 'docs/how-to/b.md', FILES, repository)

describe('a page as it is packed', () => {
  it('links to packed pages as before, and to others in the repository', () => {
    expect(links({ url: 'git+https://git.example/a/sluice.git' })).toBe(
      PAGE.replace('(../adr/0033-two.md#costs)', '(https://git.example/a/sluice/blob/HEAD/docs/adr/0033-two.md#costs)')
        .replace('(../../lib/x.ts)', '(https://git.example/a/sluice/blob/HEAD/lib/x.ts)')
        .replace('(../images/lab.webp)', '(https://git.example/a/sluice/raw/HEAD/docs/images/lab.webp)'),
    )
  })

  it('has the words of those links alone while no repository is stated', () => {
    expect(links()).toBe(
      PAGE.replace('[ADR 33](../adr/0033-two.md#costs)', 'ADR 33')
        .replace('[`code`](../../lib/x.ts)', '`code`')
        .replace('![the lab](../images/lab.webp)', 'the lab'),
    )
  })
})
