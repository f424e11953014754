import { dirname, join } from 'node:path'
import ts from 'typescript'

const ROOT = join(__dirname, '..')

/** What a program imports, and the file that says what is in it. */
const ENTRIES = {
  sluice: 'lib/index.ts',
  'sluice/limiter': 'limiter/index.ts',
  'sluice/backend': 'backend/index.ts',
} as const

const INTRODUCTION = `# The API

What \`sluice\`, \`sluice/limiter\` and \`sluice/backend\` export, with the words of their docstrings. This page is written by \`npm run docs:api\`.
`

/** docs/api.md. Everything in it is text of the source: declarations as they are written there, and their comments. */
export function apiReference(): string {
  const program = openProgram(Object.values(ENTRIES).map((path) => join(ROOT, path)))
  const checker = program.getTypeChecker()
  const homes = new Map<ts.Symbol, string>()
  const exportsOf = (path: string) =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(join(ROOT, path))!)!)
  const shown = new Set(
    Object.values(ENTRIES).flatMap((path) => exportsOf(path).map((symbol) => original(symbol, checker))),
  )
  const sections = Object.entries(ENTRIES).map(([name, path]) => {
    const parts = exportsOf(path)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((alias) => {
        const symbol = original(alias, checker)
        const home = homes.get(symbol)
        if (home !== undefined)
          return `### ${symbol.name} of ${name}\n\nThe same as [\`${symbol.name}\`](#${symbol.name.toLowerCase()}) of \`${home}\`.\n`
        homes.set(symbol, name)
        return exportSection(symbol, {
          checker,
          shown,
          typeOnly: alias.declarations?.some(ts.isTypeOnlyExportDeclaration) ?? false,
        })
      })
    return [`## ${name}\n`, ...parts].join('\n')
  })
  return [INTRODUCTION, ...sections].join('\n')
}

interface Look {
  readonly checker: ts.TypeChecker
  /** What has a section of its own; the members of other interfaces stand where they are inherited. */
  readonly shown: ReadonlySet<ts.Symbol>
  /** Whether nobody can make one, so that its constructor is of no interest. */
  readonly typeOnly: boolean
}

/** Relative imports only are followed: the types of packages are of no interest, and their declarations, are large. */
function openProgram(files: readonly string[]): ts.Program {
  const options: ts.CompilerOptions = {
    lib: ['lib.es2023.d.ts'],
    target: ts.ScriptTarget.ES2023,
    types: [],
    module: ts.ModuleKind.CommonJS,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  }
  const host = ts.createCompilerHost(options)
  host.resolveModuleNameLiterals = (literals, from) =>
    literals.map(({ text }) => ({
      resolvedModule: text.startsWith('.') ? resolved(join(dirname(from), text)) : undefined,
    }))
  return ts.createProgram(files, options, host)
}

function resolved(path: string): ts.ResolvedModuleFull | undefined {
  const found = [`${path}.ts`, join(path, 'index.ts')].find(ts.sys.fileExists)
  return found === undefined ? undefined : { resolvedFileName: found, extension: ts.Extension.Ts }
}

const original = (symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

function exportSection(symbol: ts.Symbol, look: Look): string {
  const { checker } = look
  const declarations = withoutImplementations(symbol.declarations ?? [])
  if (declarations.length === 0) throw new Error(`${symbol.name} is exported, and its declaration was not found`)
  return [
    `### ${symbol.name}\n`,
    `\`\`\`ts\n${declarations.map((one) => computedType(one, checker) ?? signature(one)).join('\n')}\n\`\`\`\n`,
    ...paragraphs(symbol, checker).map((text) => `${text}\n`),
    ...members(declarations, look).map(([name, overloads]) => memberItem(name, overloads, checker)),
  ].join('\n')
}

/** Of a function with overloads, what callers see. */
function withoutImplementations<T extends ts.Declaration>(declarations: readonly T[]): readonly T[] {
  const open = declarations.filter((one) => !('body' in one && one.body))
  return declarations.length > 1 && open.length > 0 ? open : declarations
}

/** A type that is derived from a value, which readers do not see, as what comes out. */
function computedType(node: ts.Node, checker: ts.TypeChecker): string | undefined {
  if (!ts.isTypeAliasDeclaration(node) || !/\btypeof\b/.test(node.type.getText())) return undefined
  const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias
  return `type ${node.name.text} = ${checker.typeToString(checker.getTypeAtLocation(node), node, flags)}`
}

/** A declaration in one line, without its comment, its body and its initial value; a type with all that it says. */
function signature(node: ts.Node): string {
  if (ts.isTypeAliasDeclaration(node)) return node.getText().replace(/^export /, '')
  const end = bodyOf(node)
  const text = node.getSourceFile().text.slice(node.getStart(), end ?? node.getEnd())
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/^export |\b(private|protected|override) (readonly )?/g, '')
    .replace(/\( /, '(')
    .replace(/, \)/, ')')
    .replace(/\s*[={]?\s*$/, '')
}

/** Where the part begins that callers need not see. */
function bodyOf(node: ts.Node): number | undefined {
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) return node.members.pos
  if (ts.isFunctionLike(node) && 'body' in node) return (node.body as ts.Node | undefined)?.getStart()
  if ((ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) && !isConstant(node.initializer))
    return node.initializer?.getStart()
  return undefined
}

/** A text or number, such as an error's code, is its own type. */
const isConstant = (value: ts.Expression | undefined): boolean =>
  value !== undefined && (ts.isStringLiteral(value) || ts.isNumericLiteral(value) || ts.isAsExpression(value))

type Member = ts.ClassElement | ts.TypeElement

/**
 * Public members with their overloads, in the order of the source; inherited ones first, unless they have a section.
 */
function members(declarations: readonly ts.Declaration[], look: Look): [string, readonly Member[]][] {
  const found = new Map<string, Member[]>()
  for (const declaration of declarations) {
    if (!ts.isClassDeclaration(declaration) && !ts.isInterfaceDeclaration(declaration)) continue
    for (const [name, overloads] of inherited(declaration, look)) found.set(name, [...overloads])
    for (const member of declaration.members as ts.NodeArray<Member>) {
      const hidden = ts.getCombinedModifierFlags(member) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)
      const name = ts.isConstructorDeclaration(member) ? 'constructor' : member.name?.getText()
      if (hidden || name === undefined || name.startsWith('#') || (name === 'constructor' && look.typeOnly)) continue
      found.set(name, [...(found.get(name) ?? []), member])
    }
  }
  return [...found].map(([name, overloads]) => [name, withoutImplementations(overloads)])
}

function inherited(
  declaration: ts.ClassDeclaration | ts.InterfaceDeclaration,
  look: Look,
): [string, readonly Member[]][] {
  const bases = (declaration.heritageClauses ?? []).flatMap(({ types }) => types)
  return bases.flatMap(({ expression }) => {
    const symbol = look.checker.getSymbolAtLocation(expression)
    const base = symbol && original(symbol, look.checker)
    return base?.declarations && !look.shown.has(base) ? members(base.declarations, look) : []
  })
}

function memberItem(name: string, overloads: readonly Member[], checker: ts.TypeChecker): string {
  const symbol = name === 'constructor' ? undefined : checker.getSymbolAtLocation(overloads[0]!.name!)
  const text = [
    overloads.map((one) => `\`${signature(one)}\``).join('<br>'),
    ...(symbol ? paragraphs(symbol, checker) : []),
  ]
  return `- ${text.join('\n\n').replace(/\n(?=.)/g, '\n  ')}\n`
}

const TAGS: Readonly<Record<string, string>> = {
  default: '**Default:**',
  returns: '**Returns**',
  throws: '**Throws**',
  see: '**See**',
  param: '**Parameter**',
}

/** What the comment of a declaration says, with its tags. */
function paragraphs(symbol: ts.Symbol, checker: ts.TypeChecker): string[] {
  const text = plain(symbol.getDocumentationComment(checker))
  const tags = symbol
    .getJsDocTags(checker)
    .flatMap(({ name, text: said }) => (TAGS[name] ? [`${TAGS[name]} ${plain(said)}`] : []))
  return [...(text === '' ? [] : [text]), ...tags]
}

const plain = (parts: readonly ts.SymbolDisplayPart[] | undefined): string =>
  ts
    .displayPartsToString(parts as ts.SymbolDisplayPart[] | undefined)
    .replace(/\{@link (\S+?)\}/g, '`$1`')
    .trim()
