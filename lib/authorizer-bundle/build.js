// Runs esbuild with the options in the first argument and the replacements below. A process of its own, because esbuild's plugins are
// asynchronous and a construct, which needs the bundle while it is made, is not.
const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { build } = require('esbuild')

/** Errors of DynamoDB's that calls on single items and queries can be answered with. */
const THROWN = [
  'ConditionalCheckFailedException',
  'InternalServerError',
  'InvalidEndpointException',
  'ItemCollectionSizeLimitExceededException',
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'ResourceInUseException',
  'ResourceNotFoundException',
  'ThrottlingException',
  'TransactionConflictException',
  'TransactionInProgressException',
]

/** Files inside the SDK that are more than is needed, and cannot be aliased because they are imported by relative paths. @type {import('esbuild').Plugin} */
const lessOfTheSdk = {
  name: 'less-of-the-sdk',
  setup({ onLoad }) {
    // Of its package.json the SDK needs the version, for the user agent.
    onLoad({ filter: /client-dynamodb[\\/]package\.json$/ }, ({ path }) => {
      const { version } = JSON.parse(readFileSync(path, 'utf8'))
      return { contents: JSON.stringify({ version }), loader: 'json' }
    })
    onLoad({ filter: /client-dynamodb[\\/]dist-es[\\/]endpoint[\\/]endpointResolver\.js$/ }, () => {
      return { contents: readFileSync(join(__dirname, 'region-endpoints.ts'), 'utf8'), loader: 'ts' }
    })
    // Copies every input and output, attribute by attribute, for a log that nobody keeps.
    onLoad({ filter: /middleware-logger[\\/]loggerMiddleware\.js$/ }, () => {
      return {
        contents: 'export const getLoggerPlugin = () => ({ applyToStack() {} }); export let loggerMiddleware, loggerMiddlewareOptions',
      }
    })
    // An error that no call here is answered with needs no class of its own.
    onLoad({ filter: /client-dynamodb[\\/]dist-es[\\/]models[\\/]errors\.js$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8').replace(/export class (\w+) extends __BaseException \{[\s\S]*?\n\}\n/g, (text, name) =>
        THROWN.includes(name) ? text : `export const ${name} = __BaseException;\n`,
      )
      return { contents }
    })
  },
}

build({ ...JSON.parse(process.argv[2]), plugins: [lessOfTheSdk] }).catch(() => process.exit(1)) // esbuild has said why
