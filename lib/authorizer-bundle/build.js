// Runs esbuild with the options in the first argument and the replacements below, but for those that the second names,
// and prints what the bundle is made of. A process of its own, because esbuild's plugins are asynchronous and a
// construct, which needs the bundle while it is made, is not.
const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { build } = require('esbuild')

/**
 * Files inside the SDK that are more than is needed, and cannot be aliased because they are imported by relative paths:
 * the end of each one's path, and what is loaded instead of what it says.
 *
 * @type {Readonly<Record<string, (text: string) => string>>}
 */
const REPLACEMENTS = {
  '@aws-sdk/client-dynamodb/dist-es/endpoint/endpointResolver.js': () => standIn('region-endpoints.ts'),
  // What item-calls.ts does without; commands ask for it by name.
  '@aws-sdk/client-dynamodb/dist-es/schemas/schemas_0.js': (text) =>
    `export const errorTypeRegistries = []; export let ${text.match(/(?<=^export var )\w+\$?(?= =)/gm)}`,
  // Functions for endpoint rules, with every Region and its name: region-endpoints.ts has no rules.
  '@aws-sdk/core/dist-es/submodules/client/util-endpoints/aws.js': () => 'export const awsEndpointFunctions = {}',
  '@smithy/core/dist-es/submodules/config/node-config-provider/configLoader.js': () =>
    standIn('environment-settings.ts'),
  // Has a say in retries and in timeouts, of which no-retries.ts has none and handler.ts sets its own.
  '@smithy/core/dist-es/submodules/config/defaults-mode/resolveDefaultsModeConfig.js': () =>
    "export const resolveDefaultsModeConfig = () => async () => 'legacy'",
  // Asks the machine for its Region over HTTP: Lambda has it in the environment.
  '@smithy/core/dist-es/submodules/config/config-resolver/regionConfig/getInstanceMetadataRegion.js': () =>
    'export const getInstanceMetadataRegion = async () => undefined',
  // Writes the headers of events to be signed, of which DynamoDB has none.
  '@smithy/signature-v4/dist-es/HeaderFormatter.js': () => 'export class HeaderFormatter {}; export let Int64',
  // Words of mistakes that are never read, since Sluice has its own, and a standard by which nothing here calls it.
  'valibot/dist/index.mjs': (text) =>
    withFunctions(text, {
      _addIssue: `(context, _label, dataset) {
        if (context.kind === 'schema') dataset.typed = false;
        (dataset.issues ??= []).push({})
      }`,
      _standardSchema: '(schema) { return schema }',
      _joinExpects: '() { return null }',
      _stringify: '() { return null }',
    }),
}

/** The text of a module in which functions at its top have other parameters and bodies. */
function withFunctions(text, functions) {
  return Object.entries(functions).reduce((before, [name, code]) => {
    const after = before.replace(new RegExp(`^function ${name}\\([\\s\\S]*?^}$`, 'm'), () => `function ${name}${code}`)
    if (after === before)
      throw new Error(`valibot no longer has the function ${name}, which lib/authorizer-bundle replaces`)
    return after
  }, text)
}

/** Files that stay as the SDK has them: to measure what each replacement is worth. */
const kept = JSON.parse(process.argv[3] ?? '[]')

/** Of the above, what no import has led to yet. */
const idle = new Set(Object.keys(REPLACEMENTS).filter((file) => !kept.includes(file)))

/** @type {import('esbuild').Plugin} */
const lessOfTheSdk = {
  name: 'less-of-the-sdk',
  setup({ onLoad }) {
    for (const [file, replaced] of Object.entries(REPLACEMENTS)) {
      if (kept.includes(file)) continue
      const path = ['', 'node_modules', ...file.split('/')].join('[\\/]').replaceAll('.', '\\.')
      onLoad({ filter: new RegExp(`${path}$`) }, ({ path }) => {
        idle.delete(file)
        return { contents: replaced(readFileSync(path, 'utf8')), loader: 'ts' }
      })
    }
  },
}

/** Refuses a bundle of an SDK in which something has moved that is replaced: it would come back without a word. */
function checkReplaced({ inputs }, aliases) {
  const imported = new Set(Object.values(inputs).flatMap(({ imports }) => imports.map(({ original }) => original)))
  if (!imported.has('@aws-sdk/client-dynamodb')) return
  const gone = [...[...idle].filter((file) => file.startsWith('@')), ...aliases.filter((name) => !imported.has(name))]
  if (gone.length > 0) throw new Error(`the SDK no longer has what lib/authorizer-bundle replaces: ${gone.join(', ')}`)
}

function standIn(name) {
  return readFileSync(join(__dirname, name), 'utf8')
}

const options = JSON.parse(process.argv[2])
build({ ...options, metafile: true, plugins: [lessOfTheSdk] })
  .then(({ metafile }) => {
    checkReplaced(metafile, Object.keys(options.alias ?? {}))
    process.stdout.write(JSON.stringify(metafile.outputs))
  })
  .catch((error) => {
    if (!error.errors) console.error(error.message) // or esbuild has said why
    process.exit(1)
  })
