import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { ELSEWHERE } from '../evasion/elsewhere'

const ROOT = join(__dirname, '..', '..')
const PAGE = readFileSync(join(ROOT, 'docs', 'security.md'), 'utf8')

/** Tests that the page names, as links: `[title](../test/….test.ts)`; rows of attacks link to their folder. */
const NAMED = [...PAGE.matchAll(/\[((?:[^\]\\]|\\.)+)\]\(\.\.\/(test\/[^)]+)\)/g)].map(
  ([, title, path]) => [title!.replaceAll('\\|', '|'), normalize(path!)] as const,
)

/** The source of a test, or of all that is in a folder. */
const sourceOf = (path: string): string =>
  path.endsWith('.ts')
    ? readFileSync(join(ROOT, path), 'utf8')
    : readdirSync(join(ROOT, path))
        .map((name) => readFileSync(join(ROOT, path, name), 'utf8'))
        .join('\n')

test('docs/security.md names tests', () => expect(NAMED.length).toBeGreaterThan(10))

test.each([...NAMED, ...ELSEWHERE.map(({ test }) => [test[1], test[0]] as const)])(
  'there is a test "%s" in %s',
  (title, path) => {
    const quoted = [`'${title}'`, `"${title}"`, `\`${title.replaceAll('`', '\\`')}\``]
    expect(quoted.filter((one) => sourceOf(path).includes(one))).not.toEqual([])
  },
)
