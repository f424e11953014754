/**
 * Checks the types of the package as programs see them, by the oldest compiler and the newest, with
 * `exactOptionalPropertyTypes`: what must not compile, and what the compiler says of it (`test/types`); that the
 * examples compile; what an editor offers; and that each option takes `undefined`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { COMPILERS, DECLARATIONS, ENTRY_FILES, ROOT, serviceOf } from './compilers'
import { COMPLETED, notOffered } from './completions'
import { unexpectedErrors, withoutExpectations } from './expected-errors'
import { optionsOfExports, takesUndefined } from './options'

const FOLDERS = ['test/types', 'examples/outbound', 'examples/without-api-gateway']
const files = FOLDERS.flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(ROOT, folder, name)))
const programs = new Map(
  files.filter((path) => path.endsWith('.ts')).map((path) => [path, readFileSync(path, 'utf8')] as const),
)
const texts = new Map([...programs].map(([path, text]) => [path, withoutExpectations(text)] as const))

/** Fewer are found only if most are not. */
const LEAST_OPTIONS = 150

const isOurs = (path: string): boolean => path.startsWith(DECLARATIONS)

const mistakes = COMPILERS.flatMap((ts) => {
  const service = serviceOf(ts, new Map([...texts, ...COMPLETED]))
  const found = [...programs].flatMap(([path, text]) =>
    unexpectedErrors(text, [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)]).map(
      (one) => `${relative(ROOT, path)}:${one}`,
    ),
  )
  const options = optionsOfExports(ts, service.getProgram()!, ENTRY_FILES, isOurs)
  if (options.length < LEAST_OPTIONS) found.push(`wanted at least ${LEAST_OPTIONS} options, got ${options.length}`)
  const strict = options
    .filter((option) => !takesUndefined(ts, option))
    .map((one) => `${relative(DECLARATIONS, one.getSourceFile().fileName)}: ${one.getText()} must take undefined`)
  return [...found, ...notOffered(service), ...strict].map((one) => `TypeScript ${ts.version}: ${one}`)
})

for (const mistake of mistakes) console.error(mistake)
if (mistakes.length > 0) process.exitCode = 1
