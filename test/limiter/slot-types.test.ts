import { join } from 'node:path'
import {
  createCompilerHost,
  createProgram,
  createSourceFile,
  flattenDiagnosticMessageText,
  ScriptTarget,
  type SourceFile,
} from 'typescript'

const PROGRAM = join(__dirname, 'program.ts')

/** Every other file is parsed once for all programs. */
const parsed = new Map<string, SourceFile | undefined>()

/** What the compiler says of a program with these libraries, and no types of Node. */
function mistakesIn(text: string, ...lib: string[]): string[] {
  const options = {
    lib: lib.map((name) => `lib.${name}.d.ts`),
    types: [],
    strict: true,
    noEmit: true,
    target: ScriptTarget.ES2022,
  }
  const host = createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  const source = createSourceFile(PROGRAM, text, ScriptTarget.ES2022)
  host.getSourceFile = (name, ...rest) => {
    if (name === PROGRAM) return source
    if (!parsed.has(name)) parsed.set(name, getSourceFile(name, ...rest))
    return parsed.get(name)
  }
  host.fileExists = (name) => name === PROGRAM || fileExists(name)
  host.readFile = (name) => (name === PROGRAM ? text : readFile(name))
  const program = createProgram([PROGRAM], options, host)
  const slot = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName === PROGRAM || fileName.endsWith('limiter/options.ts'))
  return slot
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
    .map(({ messageText }) => flattenDiagnosticMessageText(messageText, ' '))
}

const IMPORT = `import type { Slot } from '../../limiter/options'\ndeclare function acquire(): Promise<Slot>\n`

describe('the type of a slot', () => {
  it('compiles where nothing knows Symbol.asyncDispose', () => {
    const text = `${IMPORT}export const run = async () => { const slot = await acquire(); return [slot.allowed, slot.remaining, await slot.release({ cost: 1 })] }`
    expect(mistakesIn(text, 'es2022')).toEqual([])
    expect(mistakesIn(`${text}\nexport const wrong = async () => (await acquire()).released`, 'es2022')).toHaveLength(1)
  })

  it('is disposable where that is known', () => {
    const text = `${IMPORT}export const run = async () => { await using slot = await acquire(); return slot.allowed }`
    expect(mistakesIn(text, 'es2022', 'esnext.disposable')).toEqual([])
    expect(mistakesIn(text, 'es2022')).not.toEqual([])
  })
})
