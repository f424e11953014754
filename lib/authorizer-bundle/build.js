// Runs esbuild with the options in the first argument and the replacements below, without those that the second names,
// and prints what the bundle is made of. It is a process of its own, because esbuild's plugins are asynchronous, and a
// construct needs the bundle synchronously.
const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { build } = require('esbuild')

/**
 * Files of the SDK with unneeded code that cannot be aliased, because they are imported by relative paths: the end of
 * each path, and a function from the file's text to the replacement.
 *
 * @type {Readonly<Record<string, (text: string) => string>>}
 */
const REPLACEMENTS = {
  '@aws-sdk/client-dynamodb/dist-es/endpoint/endpointResolver.js': () => standIn('region-endpoints.ts'),
  // item-calls.ts does not need the schemas; commands refer to them by name.
  '@aws-sdk/client-dynamodb/dist-es/schemas/schemas_0.js': (text) =>
    `export const errorTypeRegistries = []; export let ${text.match(/(?<=^export var )\w+\$?(?= =)/gm)}`,
  // Functions for endpoint rules, with every Region and its name: region-endpoints.ts has no rules.
  '@aws-sdk/core/dist-es/submodules/client/util-endpoints/aws.js': () => 'export const awsEndpointFunctions = {}',
  '@smithy/core/dist-es/submodules/config/node-config-provider/configLoader.js': () =>
    standIn('environment-settings.ts'),
  // Defaults for retries and timeouts: no-retries.ts has no retries, and handler.ts sets its own timeouts.
  '@smithy/core/dist-es/submodules/config/defaults-mode/resolveDefaultsModeConfig.js': () =>
    "export const resolveDefaultsModeConfig = () => async () => 'legacy'",
  // Queries the machine's metadata for its Region over HTTP: Lambda has the Region in the environment.
  '@smithy/core/dist-es/submodules/config/config-resolver/regionConfig/getInstanceMetadataRegion.js': () =>
    'export const getInstanceMetadataRegion = async () => undefined',
  // Serializes headers of event streams for signing; DynamoDB has no event streams.
  '@smithy/signature-v4/dist-es/HeaderFormatter.js': () => 'export class HeaderFormatter {}; export let Int64',
  // Error messages that are never shown, since Sluice has its own, and a standard interface that is not used here.
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

/** The text of a module in which top-level functions have other parameters and bodies. */
function withFunctions(text, functions) {
  return Object.entries(functions).reduce((before, [name, code]) => {
    const after = before.replace(new RegExp(`^function ${name}\\([\\s\\S]*?^}$`, 'm'), () => `function ${name}${code}`)
    if (after === before)
      throw new Error(`valibot no longer has the function ${name}, which lib/authorizer-bundle replaces`)
    return after
  }, text)
}

/** Files that are not replaced, to measure what each replacement saves. */
const kept = JSON.parse(process.argv[3] ?? '[]')

/** Replacements that no import has used yet. */
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

/** Refuses a bundle of an SDK in which a replaced file has moved: the original would be bundled again unnoticed. */
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
