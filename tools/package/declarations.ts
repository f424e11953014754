import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Packages whose types users have: those of the constructs, and Node's. */
const HAVE_TYPES = /^(aws-cdk-lib(\/|$)|constructs$|node:)/
/** Its types are used where it is installed, and are any type where it is not. */
const SDK = '@aws-sdk/client-dynamodb'

/**
 * Leaves the declarations that the entry points reach, and makes them compile, `skipLibCheck` or not, for programs
 * without the SDK.
 *
 * @throws Error for a type from any other package.
 */
export function finishDeclarations(folder: string, entries: readonly string[]): void {
  const reached = new Set(entries)
  for (const file of reached) {
    const text = readFileSync(file, 'utf8')
    for (const [, specifier] of text.matchAll(/(?:\bfrom |\bimport\(|^import )['"]([^'"]+)['"]/gm)) {
      if (specifier!.startsWith('.')) reached.add(declarationOf(join(dirname(file), specifier!)))
      else if (specifier !== SDK && !HAVE_TYPES.test(specifier!))
        throw new Error(`${file} shows types of ${specifier}, which users of the package do not have`)
    }
    writeFileSync(
      file,
      text.replace(new RegExp(`^(import .* from '${SDK}';)$`, 'gm'), '// @ts-ignore: an optional peer\n$1'),
    )
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (file.endsWith('.d.ts') && !reached.has(file)) rmSync(file)
  }
}

function declarationOf(path: string): string {
  const found = [`${path}.d.ts`, join(path, 'index.d.ts')].find((file) => existsSync(file))
  if (!found) throw new Error(`there is no declaration of ${path}`)
  return found
}

const IMPORT = /^import (?:type )?\{[^}]*\} from '(\.[^']*)';\n/gm
const REEXPORT = /^export (?:type )?\{([^}]*)\}(?: from '\.[^']*')?;\n/gm
const DECLARED = /^(?:declare )?(?:abstract )?(?:class|const|enum|function|interface|type) (\w+)/gm

/**
 * The declarations of an entry point in one text, for a package that is small: on a disk, each file takes 4 KB.
 *
 * @throws Error for what would mean something else in one file: a name that two files declare, an import under another
 * name, and every way to import but `import { … } from './…'`.
 */
export function flattened(entry: string): string {
  const files = new Set([entry])
  const declared = new Map<string, string>()
  const parts = []
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    for (const [, specifier] of text.matchAll(/ from '(\.[^']*)'/g))
      files.add(declarationOf(join(dirname(file), specifier!)))
    const renamed = [...(text.match(IMPORT) ?? []), ...(text.match(REEXPORT) ?? [])].some((line) => / as /.test(line))
    const part = text
      .replace(IMPORT, '')
      .replace(REEXPORT, '')
      .replace(/^export (?!\{)/gm, '')
    if (renamed || /^(import|export)\b|\bimport\(/m.test(part))
      throw new Error(`${file} cannot be one text with others`)
    for (const [, name] of part.matchAll(DECLARED)) {
      const other = declared.get(name!)
      if (other !== undefined && other !== file) throw new Error(`both ${file} and ${other} declare ${name}`)
      declared.set(name!, file)
    }
    parts.push(part)
  }
  const exported = [...readFileSync(entry, 'utf8').matchAll(REEXPORT)].flatMap(([, names]) => names!.split(','))
  const names = exported.map((name) => name.replace(/^\s*type /, '').trim()).filter((name) => name !== '')
  return [...parts, `export { ${names.join(', ')} };\n`].join('')
}
