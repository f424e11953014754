import type { IncomingMessage, ServerResponse } from 'node:http'
import { failureOf } from '../../cli/exit'
import type { Pace, Sample, Trouble } from '../../pages/console/protocol'
import { command } from './commands'
import type { ConsoleParts } from './console-parts'
import { type Endpoint, OWN_HEADERS, sendJson } from './pages'
import { apiKeyIn, numberIn, oneOf, readJson, WrongField } from './read-json'
import type { Limits } from './tier-changes'

type Body = Readonly<Record<string, unknown>>

const TROUBLES = ['none', 'slow', 'throttled', 'down'] as const satisfies readonly Trouble[]

/** The page's endpoints, by method and path. A mistake is a 422 that names the field, and changes nothing. */
export function endpointsOf(parts: ConsoleParts): ReadonlyMap<string, Endpoint> {
  const { streams, callers, changes, firing, dynamodb, watch } = parts
  const posts: Readonly<Record<string, (body: Body) => Promise<unknown>>> = {
    async fire(body) {
      const shot = { route: sampleIn(body, parts).route, apiKey: apiKeyIn(body.apiKey), pace: paceIn(body) }
      await watch()
      firing.start(shot)
    },
    async stop() {
      firing.stop()
    },
    async look(body) {
      const { route, target } = sampleIn(body, parts)
      return callers.look(apiKeyIn(body.apiKey), `${route.split(' ')[0]} ${target}`)
    },
    async break(body) {
      assertLocal(parts)
      const trouble = oneOf(body.trouble, 'trouble', TROUBLES)
      const slowMs = trouble === 'slow' ? numberIn(body.slowMs, 'slowMs') : 0
      await watch()
      dynamodb.break(trouble, slowMs)
      if (trouble === 'none') await changes.retry()
    },
    async apply(body) {
      assertLocal(parts)
      if (typeof body.yaml === 'string') await changes.applyYaml(body.yaml, body.exported)
      else if (typeof body.tier === 'string') await changes.applyLimits(body.tier, limitsIn(body.limits))
      else throw new WrongField('yaml', 'send the tiers as YAML, or a tier with its limits')
    },
    caller: (body) => changeCaller(body, parts),
  }
  const endpoints = new Map<string, Endpoint>([
    [
      'GET /_local/console/events',
      async (_, response) => {
        if (streams.open(response, OWN_HEADERS)) await watch()
      },
    ],
    [
      'GET /_local/console/tiers',
      async (incoming, response) => sendJson(incoming, response, 200, await changes.read()),
    ],
  ])
  for (const [name, answer] of Object.entries(posts))
    endpoints.set(`POST /_local/console/${name}`, (incoming, response) => post(incoming, response, answer))
  return endpoints
}

async function post(
  incoming: IncomingMessage,
  response: ServerResponse,
  answer: (body: Body) => Promise<unknown>,
): Promise<void> {
  try {
    const result = (await answer(await readJson(incoming, response))) ?? {}
    return await sendJson(incoming, response, 200, result)
  } catch (error) {
    if (error instanceof WrongField)
      return sendJson(incoming, response, 422, { field: error.field, message: error.message })
    return sendJson(incoming, response, 422, { field: '', message: failureOf(error).message })
  }
}

/** Refuses a change of a foreign table, which is not for a page. @throws WrongField */
function assertLocal({ isLocal }: ConsoleParts): void {
  if (!isLocal) throw new WrongField('', 'this DynamoDB is not on this machine: the console only looks at it')
}

function sampleIn({ route }: Body, { options: { samples } }: ConsoleParts): Sample {
  const routes = samples.map((one) => one.route)
  return samples[routes.indexOf(oneOf(route, 'route', routes))]!
}

function paceIn({ pace }: Body): Pace {
  const given = (typeof pace === 'object' && pace !== null ? pace : {}) as Body
  const kind = oneOf(given.kind, 'pace', ['burst', 'steady', 'poisson'] as const)
  if (kind === 'burst') return { kind, requests: numberIn(given.requests, 'requests') }
  return { kind, perSecond: numberIn(given.perSecond, 'perSecond') }
}

function limitsIn(value: unknown): Limits {
  if (!isRecord(value) || !Object.values(value).every(isRecord))
    throw new WrongField('tier', 'send the limits by policy')
  return value as Limits
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Commands about one caller, as a terminal would run them. */
async function changeCaller(body: Body, { callers, options, isLocal }: ConsoleParts): Promise<unknown> {
  assertLocal({ isLocal } as ConsoleParts)
  const action = oneOf(body.action, 'action', ['block', 'unblock', 'reset', 'refund'] as const)
  const apiKey = apiKeyIn(body.apiKey)
  const units = action === 'refund' ? numberIn(body.units, 'units') : 0
  const subject = await callers.subjectOf(apiKey)
  const listed = subject.replace(/^ip:/, '')
  const args = {
    block: ['block', 'add', listed],
    unblock: ['block', 'remove', listed, '--yes'],
    reset: ['reset', subject],
    refund: ['refund', subject, String(units)],
  }[action]
  const { code, out, err } = await command(args, options.engine.endpoint, options.env)
  if (code !== 0) throw new WrongField(action === 'refund' ? 'units' : 'action', err)
  // Authorizers cache a list for half a minute; new instances read it.
  if (action === 'block' || action === 'unblock') await options.replaceInstances()
  return { message: out, command: `sluice ${args.join(' ')}` }
}
