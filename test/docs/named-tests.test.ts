import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'

const ROOT = join(__dirname, '..', '..')
const PAGES = ['attacks.md', 'threat-model.md']

/**
 * Tests that a page names, as links: `[title](../test/….test.ts)`; rows of the table of attacks are links to its
 * folder.
 */
const NAMED = PAGES.flatMap((page) =>
  [
    ...readFileSync(join(ROOT, 'docs', page), 'utf8').matchAll(/\[((?:[^\]\\]|\\.)+)\]\(\.\.\/(test\/[^)]+)\)/g),
  ].flatMap(([, title, path]) =>
    title === 'these rules' ? [] : [[page, title!.replaceAll('\\|', '|'), normalize(path!)] as const],
  ),
)

/** The source of a test, or of all that is in a folder. */
const sourceOf = (path: string): string =>
  path.endsWith('.ts')
    ? readFileSync(join(ROOT, path), 'utf8')
    : readdirSync(join(ROOT, path))
        .map((name) => readFileSync(join(ROOT, path, name), 'utf8'))
        .join('\n')

test.each(PAGES)('%s names tests', (page) => expect(NAMED.filter(([on]) => on === page).length).toBeGreaterThan(10))

test.each(NAMED)('%s: there is a test "%s" in %s', (_, title, path) => {
  const quoted = [`'${title}'`, `"${title}"`, `\`${title.replaceAll('`', '\\`')}\``]
  expect(quoted.filter((one) => sourceOf(path).includes(one))).not.toEqual([])
})
