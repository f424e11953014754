import { InvalidArgumentError, Option } from 'commander'
import { wholeNumber } from '../arguments'
import { type AddCommand, describeCommand } from '../command'
import type { DevOptions } from '../dev-options'
import { UserError } from '../exit'

interface Options extends Omit<DevOptions, 'port' | 'endpoint'> {
  readonly port?: number
}

export const addDev: AddCommand = (group, session) => {
  describeCommand(
    group,
    'dev',
    'Run a local API Gateway with Sluice in front of your server: with your tiers and an in-memory DynamoDB.',
    [
      'sluice dev --backend http://localhost:4000',
      'sluice dev --tiers my-tiers.yaml --backend http://localhost:4000 --openapi api.yaml',
      'sluice dev --api websocket --handler ./chat.js --routes send,join',
    ],
  )
    .option('--tiers <file>', 'the tiers file; changes apply when it is saved', 'tiers.yaml')
    .option('--backend <url>', 'your server (default: a sample)')
    .option('--openapi <file>', 'the API’s methods and paths (default: one route for all paths)')
    .option('--port <number>', 'port to listen on, 0 for any free one (default: PORT, else 3000)', port)
    .option('--dynamodb-port <number>', 'port of the DynamoDB engine (default: --port plus 10000)', port)
    .addOption(
      new Option('--engine <name>', 'DynamoDB engine (default: dynoxide where it runs, else dynalite)').choices([
        'dynoxide',
        'dynalite',
      ]),
    )
    .addOption(
      new Option('--api <kind>', 'kind of API; on an HTTP API every denial is a plain 403')
        .choices(['rest', 'http', 'websocket'])
        .default('rest'),
    )
    .option(
      '--handler <file>',
      'WebSocket: module whose export "handler" gets all events (default: a sample that repeats messages)',
    )
    .option('--routes <keys>', 'WebSocket: route keys beside $default, such as "send,join"', routeKeys)
    .option(
      '--route-selection <expression>',
      'WebSocket: how a message names its route (default: $request.body.action)',
    )
    .option('--instances <number>', 'authorizer instances, 1 to 64', wholeNumber(1, 64), 2)
    .option('--allow-host <name>', 'accept this host name too, for a forwarded port; repeatable', hostNames)
    .option('--access-log <file>', 'append a line for each request, for simulate --log')
    .option('--quiet', 'do not print decisions')
    .action(async (options: Options) => {
      const { print, io, runDev } = session
      await io.interrupts.during((stop) =>
        runDev!(
          {
            ...options,
            port: options.port ?? portOf(io.env.PORT || '3000'),
            ...(io.env.SLUICE_DYNAMODB_ENDPOINT && { endpoint: io.env.SLUICE_DYNAMODB_ENDPOINT }),
          },
          { env: io.env, line: (text) => print.line(text), note: (text) => print.notes(text.split('\n')), stop },
        ),
      )
    })
}

/** Route keys, with commas between them. */
function routeKeys(text: string): string[] {
  const keys = text.split(',').map((key) => key.trim())
  if (keys.some((key) => !/^[\w.@/-]{1,128}$/.test(key)))
    throw new InvalidArgumentError('it must be route keys such as "send,join", without those that begin with $')
  return keys
}

/** Names as a browser sends them, with or without a port, gathered. */
function hostNames(text: string, before: readonly string[] = []): readonly string[] {
  if (!/^(?=.{1,253}$)([a-z\d]([a-z\d-]*[a-z\d])?)(\.[a-z\d]([a-z\d-]*[a-z\d])?)*(:\d{1,5})?$/i.test(text))
    throw new InvalidArgumentError('it must be a name such as "my-machine.example", without a scheme or path')
  return [...before, text]
}

const MAX_PORT = 65_535
const port = wholeNumber(0, MAX_PORT)

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT) return Number(text)
  throw new UserError(`PORT must be a whole number from 0 to ${MAX_PORT}, got "${text}"`)
}
