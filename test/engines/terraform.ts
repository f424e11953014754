import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Where `.ci/terraform` puts a parser and a provider's schema. */
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice/terraform-0.21.0-21.22.1')
const PLUGINS = join(CACHE, 'plugins')

/** Whether this machine has Terraform and a provider for AWS; the parser and the schema are on every machine. */
export const hasTerraform = (): boolean =>
  existsSync(PLUGINS) && (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'terraform')))

/** A block's arguments and blocks, as the parser has them: blocks are lists, expressions are texts. */
export type Block = Readonly<Record<string, unknown>>

/** A folder's files as one document: its resources, variables and outputs by their names. */
export async function parseFolder(
  folder: string,
): Promise<Readonly<Record<string, Readonly<Record<string, unknown>>>>> {
  const document: Record<string, Record<string, unknown>> = {}
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.tf')))
    for (const [kind, blocks] of Object.entries(await parseText(readFileSync(join(folder, file), 'utf8'))))
      for (const [name, block] of Object.entries(blocks)) {
        const before = document[kind]?.[name] // resources of one type stand in several files
        const both = Array.isArray(block) ? block : { ...(before as Block), ...(block as Block) }
        document[kind] = { ...document[kind], [name]: both }
      }
  return document
}

/** @throws where the text is none of Terraform's language. */
export function parseText(text: string): Promise<Readonly<Record<string, Block>>> {
  if (!existsSync(CACHE)) throw new Error(`no parser in ${CACHE}: run .ci/terraform`)
  return require(join(CACHE, 'node_modules', '@cdktf', 'hcl2json')).parse('main.tf', text)
}

const META = new Set(['count', 'for_each', 'depends_on', 'lifecycle', 'provider', 'dynamic'])

/** What a resource has that the provider does not know, and lacks that it must have, such as `aws_x.vpc.subnets`. */
export function mistakesIn(type: string, resource: Block): string[] {
  const types = readFileSync(join(CACHE, 'schema', `${type.replace('aws_', '').replaceAll('_', '-')}.d.ts`), 'utf8')
  const shapes = new Map(
    [...types.matchAll(/export interface (\w+)[^{]*\{\n(.*?)\n\}/gs)].map(([, name, body]) => [name!, body!]),
  )
  return check(type, [...shapes.keys()].find((name) => name.endsWith('Config'))!, resource, shapes)
}

function check(at: string, shape: string, block: Block, shapes: ReadonlyMap<string, string>): string[] {
  const known = [...shapes.get(shape)!.matchAll(/^ {4}readonly (\w+)(\??): (.*)$/gm)].map(([, name, optional, of]) => ({
    name: name!.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    isRequired: optional === '',
    shape: /\w+/g[Symbol.match](of!)?.find((word) => shapes.has(word)),
  }))
  const blocks = Object.entries((block.dynamic ?? {}) as Record<string, readonly { readonly content: Block[] }[]>).map(
    ([name, [dynamic]]) => [name, dynamic!.content] as const,
  )
  const present = [...Object.entries(block).filter(([name]) => !META.has(name)), ...blocks]
  const missing = known.filter(({ name, isRequired }) => isRequired && !present.some(([has]) => has === name))
  return [
    ...missing.map(({ name }) => `${at}.${name} is missing`),
    ...present.flatMap(([name, value]) => {
      const found = known.find((one) => one.name === name)
      if (!found) return [`${at}.${name} is unknown`]
      return found.shape && Array.isArray(value)
        ? value.flatMap((inner) => check(`${at}.${name}`, found.shape!, inner, shapes))
        : []
    }),
  ]
}

/** Runs Terraform in a folder, with the providers of this machine alone, and returns what it printed. */
export async function terraform(
  cwd: string,
  env: Readonly<Record<string, string>>,
  command: string,
  ...args: string[]
): Promise<string> {
  const providers = command === 'init' ? [`-plugin-dir=${realpathSync(PLUGINS)}`, '-no-color'] : []
  const options = {
    cwd,
    env: { ...process.env, ...env, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1' },
    maxBuffer: 2 ** 26,
  }
  try {
    return (await promisify(execFile)('terraform', [command, ...providers, ...args], options)).stdout
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout?: string; stderr?: string }
    throw new Error([message, stdout, stderr].join('\n'))
  }
}
