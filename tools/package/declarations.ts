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
