import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ts from 'typescript'
import { exportsOn, type Reference, referenceOf } from '../../tools/counts/reference'
import old from '../../tools/counts/reference-b620fa4.json'
import { CHANGES } from './reference-changes'

const ROOT = resolve(__dirname, '..', '..')
const NOW = referenceOf(ROOT)
const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8')

/** Lines of one reference that another has not, without those within another of them. */
function missingIn(other: Reference, one: Reference): string[] {
  const lines = (Object.keys(one) as (keyof Reference)[]).flatMap((part) =>
    one[part].filter((line) => !other[part].includes(line)),
  )
  const isWithin = (line: string, head: string) =>
    line !== head && [' ', '.', ': '].some((end) => line.startsWith(withoutArguments(head) + end))
  return lines.filter((line) => !lines.some((head) => isWithin(line, head))).sort()
}

/** `signing-key remove <id>` is the head of `signing-key remove --json`. */
const withoutArguments = (head: string) => head.replace(/^([a-z-]+(?: [a-z-]+)?) [<[].*/, '$1')

describe('exports, constructs, commands and fields differ from those of b620fa4', () => {
  it('by what was added on purpose', () => {
    const named = CHANGES.flatMap(({ added = [], changed = [] }) => [...added, ...changed.map(([, now]) => now)])
    expect(missingIn(old, NOW)).toEqual(named.sort())
  })

  it('by what was removed on purpose', () => {
    const named = CHANGES.flatMap(({ removed = [], changed = [] }) => [
      ...removed,
      ...changed.map(([before]) => before),
    ])
    expect(missingIn(NOW, old)).toEqual(named.sort())
  })

  it('and the changelog says so', () => {
    const unreleased = read('CHANGELOG.md').split(/^## /m)[1]!.replaceAll(/\s+/g, ' ')
    expect(unreleased).toMatch(/^Unreleased/)
    for (const { changelog } of CHANGES) expect(unreleased).toContain(changelog)
  })
})

it('what lies within an addition is not named by itself, and an overload and an option are', () => {
  const none: Reference = { exports: ['a: F: f(): void;'], constructs: [], commands: ['b c'], fields: [] }
  const some: Reference = {
    exports: [...none.exports, 'a: F: f(to: string): void;', 'a: G', 'a: G.h: string', 'a: Gi'],
    constructs: [],
    commands: [...none.commands, 'b c --d', 'b e <id>', 'b e --f'],
    fields: ['tier.a?'],
  }
  expect(missingIn(none, some)).toEqual([
    'a: F: f(to: string): void;',
    'a: G',
    'a: Gi',
    'b c --d',
    'b e <id>',
    'tier.a?',
  ])
  expect(missingIn(some, none)).toEqual([])
})

/** The names that a source exports. */
function namesIn(text: string): string[] {
  const { statements } = ts.createSourceFile('a.ts', text, ts.ScriptTarget.ES2023, true)
  return statements.flatMap((node) => {
    if (ts.isExportDeclaration(node))
      return node.exportClause && ts.isNamedExports(node.exportClause)
        ? node.exportClause.elements.map(({ name }) => name.text)
        : ['*'] // which this test could not look through
    const isExported =
      ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    if (!isExported) return []
    if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name.getText())
    return [(node as ts.DeclarationStatement).name!.text]
  })
}

describe('a reference', () => {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { types?: string }> }
  const entries = Object.entries(exports).filter(([, { types }]) => types !== undefined)

  it.each(entries)('has whatever %s exports', (entry, { types }) => {
    const names = namesIn(read(types!.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1.ts')))
    expect(names.length).toBeGreaterThan(0)
    const lines = [...NOW.exports, ...NOW.constructs]
    for (const name of names) expect(lines).toContain(`${join('sluice', entry)}: ${name}`)
  })

  it('has props, options and fields, each with whether it may be left out', () => {
    expect(NOW.constructs).toContain('sluice: RateLimiterProps.configTableName?: string')
    expect(NOW.exports).toContain('sluice/limiter: DynamoDbStoreOptions.tableName: string')
    expect(NOW.commands).toEqual(expect.arrayContaining(['tiers get <name>', 'tiers get --json', 'attach -y, --yes']))
    expect(NOW.fields).toEqual(
      expect.arrayContaining([
        'file.tiers',
        'tier.failureMode? (stored as onStoreError)',
        'tier.policies[].name',
        'settings.identity[jwt].issuer',
        'route.costs{}.max',
        'client.overrides{}.until',
      ]),
    )
  })

  it('has signatures and no examples, a line for each string of a union', () => {
    const page = [
      '# a\n\n## `abstract` Box\\<T>\n\nA box.\n\n```ts\nnew Box()\n```\n\n### Methods\n\n#### open()\n',
      '##### Call Signature\n\n```ts\nopen(\n  by: string\n): void;\n```\n\nOpens.\n\n```ts\nbox.open()\n```\n',
      '### Properties\n\n| Property | Type | Description |\n| --- | --- | --- |\n| `a?` | [`B`](#b) \\| `1` | Or \\| not. |\n',
      '## Kind\n\n```ts\ntype Kind =\n  | "a"\n  | "b";\n```\n\n## pack()\n\n```ts\nfunction pack(): Box;\n```\n',
    ].join('\n')
    expect(exportsOn(page)).toEqual([
      'Box',
      'Box.open: open( by: string ): void;',
      'Box.a?: B | 1',
      'Kind',
      'Kind: "a"',
      'Kind: "b"',
      'pack',
      'pack: function pack(): Box;',
    ])
  })
})
