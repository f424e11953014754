import { type Block, blocksOf, PAGES, readPage } from './snippets/blocks'
import { commandMistakes, commandsIn, mentionMistakes } from './snippets/commands'
import { jsonMistakes, yamlMistakes } from './snippets/data'

const ALL = PAGES.flatMap((page) => blocksOf(page))
const checked = (language: string) => ALL.filter((block) => block.language === language && block.exempt === undefined)
const named = (blocks: readonly Block[]) => blocks.map((block) => [`${block.page}:${block.line}`, block.text] as const)

/** What is no code of ours: output, pictures, queries of CloudWatch; test/slow/terraform.test.ts checks `hcl`. */
const UNCHECKED = ['text', 'mermaid', 'http', 'hcl']

describe('the snippets of the pages', () => {
  it('are in a language that is checked, or say why not: <!-- not checked: … -->', () => {
    const languages = ['ts', 'js', 'yaml', 'json', 'sh', ...UNCHECKED]
    const others = ALL.filter(({ language, exempt }) => !languages.includes(language) && !exempt)
    expect(others.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([])
    for (const language of ['ts', 'yaml', 'json', 'sh']) expect(checked(language).length).toBeGreaterThan(10)
  })

  it.each(named(checked('yaml')))('%s is YAML, and right if it is of a tiers file', (_, text) => {
    expect(yamlMistakes(text)).toEqual([])
  })

  it.each(named(checked('json')))('%s is JSON, and right if it is an item of the config table', (_, text) => {
    expect(jsonMistakes(text)).toEqual([])
  })

  it.each(named(checked('sh')))('%s has commands and options that there are', async (_, text) => {
    expect(await commandMistakes(text)).toEqual([])
  })

  it.each(PAGES)('%s mentions commands and options that there are', async (page) => {
    const prose = readPage(page).replaceAll(/^[ \t]*```[\s\S]*?^[ \t]*```$/gm, '')
    const mentions = [...prose.matchAll(/`((?:npx )?sluice [^`]+|npm run [^`]+)`/g)].map(([, code]) => code!)
    expect((await Promise.all(mentions.map(mentionMistakes))).flat()).toEqual([])
  })
})

describe('what checks them', () => {
  it('finds blocks, their lines, and why one is not checked', () => {
    const page = 'a\n\n```ts\nlet a\n```\n\n<!-- not checked: needs Python -->\n\n- b\n\n  ```sh\n  c\n  ```\n'
    expect(blocksOf('page.md', page)).toEqual([
      { page: 'page.md', line: 3, language: 'ts', text: 'let a\n', exempt: undefined },
      { page: 'page.md', line: 11, language: 'sh', text: 'c\n', exempt: undefined },
    ])
    const [exempt] = blocksOf('page.md', '<!-- not checked: another library, not installed -->\n\n```ts\nlet a\n```\n')
    expect(exempt!.exempt).toBe('another library, not installed')
  })

  it.each([
    ['tiers: { free: { policies: [{ name: a, limit: 0, window: 1m }] } }', /limit must be a positive integer/],
    ['settings: { identiy: [api-key] }', /identiy/],
    ['routes:\n  "GET /a": { cots: 1 }', /cots/],
    ['a: [', /./],
  ])('finds what is wrong with the YAML %j', (text, mistake) => {
    expect(yamlMistakes(text)).toEqual([expect.stringMatching(mistake)])
  })

  it.each([
    ['{ "a": }', /JSON/],
    ['{ "pk": "policy-set", "sk": "tier#free", "policy": [] }', /policy/],
    ['{ "pk": "client#x", "sk": "client", "id": "acme", "teir": "pro" }', /teir/],
  ])('finds what is wrong with the JSON %j', (text, mistake) => {
    expect(jsonMistakes(text)[0]).toMatch(mistake)
  })

  it('reads commands as a shell does', () => {
    const shell = `A=1 sluice off --note "incident 4711" # all\n$ npm ci && cat a | npx sluice get \\\n  <id> 2>&1 > a.txt; b 'it is'`
    expect(commandsIn(shell)).toEqual([
      ['sluice', 'off', '--note', 'incident 4711'],
      ['npm', 'ci'],
      ['cat', 'a'],
      ['npx', 'sluice', 'get', '<id>'],
      ['b', 'it is'],
    ])
  })

  it.each([
    ['npx sluice tiers aply a.yaml', /unknown command/],
    ['npx sluice tiers apply --froce a.yaml', /unknown option/],
    ['sluice tiers apply', /missing required argument/],
    ['cat a | sluice completion tcsh', /Allowed choices/],
    ['npm run docs', /no script docs/],
    ['npm tets', /no command tets/],
  ])('finds what is wrong with %j', async (text, mistake) => {
    expect(await commandMistakes(text)).toEqual([expect.stringMatching(mistake)])
  })

  it('lets a mention leave arguments out, and nothing else', async () => {
    expect(await mentionMistakes('sluice tiers apply')).toEqual([])
    expect(await mentionMistakes('sluice tiers apply --froce')).toHaveLength(1)
  })
})
