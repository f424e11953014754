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
import { optionsWithoutUndefined } from './options'

const FOLDERS = ['test/types', 'examples/outbound', 'examples/without-api-gateway']
const files = FOLDERS.flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(ROOT, folder, name)))
const programs = new Map(
  files.filter((path) => path.endsWith('.ts')).map((path) => [path, readFileSync(path, 'utf8')] as const),
)
const texts = new Map([...programs].map(([path, text]) => [path, withoutExpectations(text)] as const))

const isOurs = (path: string): boolean => path.startsWith(DECLARATIONS)

const mistakes = COMPILERS.flatMap((ts) => {
  const service = serviceOf(ts, new Map([...texts, ...COMPLETED]))
  const found = [...programs].flatMap(([path, text]) =>
    unexpectedErrors(text, [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)]).map(
      (one) => `${relative(ROOT, path)}:${one}`,
    ),
  )
  const strict = optionsWithoutUndefined(ts, service.getProgram()!, ENTRY_FILES, isOurs).map(
    (one) => `${relative(DECLARATIONS, one.getSourceFile().fileName)}: ${one.getText()} must take undefined`,
  )
  return [...found, ...notOffered(service), ...strict].map((one) => `TypeScript ${ts.version}: ${one}`)
})

for (const mistake of mistakes) console.error(mistake)
if (mistakes.length > 0) process.exitCode = 1
