import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { toContext } from '../../lambda/responses/context'
import { EVENTS } from '../../lambda/telemetry/events'
import { StoreUnavailableError } from '../../limiter/errors'
import { KEYS } from '../authorize/gateway'
import { policy } from '../policies/issues'
import { decisionOf, standing } from '../responses/decisions'
import { brokenRules } from '../telemetry/embedded-metrics'
import { watched, watchedGateway } from '../telemetry/watched'
import { examplesIn, explains, pageOf } from './examples'

const LAMBDA = join(__dirname, '..', '..', 'lambda')
const PAGE = pageOf('observability.md')
const EXAMPLES = examplesIn(PAGE, 'json').map((text) => text.trim())

/** Lines about requests of a client and a stranger, and about a store that fails. */
async function lines(): Promise<string[]> {
  const away = async (): Promise<never> => {
    throw new StoreUnavailableError('unreachable', 'no connection')
  }
  const minute = [policy({ limit: 2 })]
  const set = parseTiersFile(
    { tiers: { anonymous: { policies: minute }, free: { policies: minute } }, routes: {} },
    'f',
  )
  const up = watchedGateway({}, { set })
  const clear = watchedGateway({ callers: 'clear' }, { set })
  const debug = watchedGateway({ level: 'debug' }, { set })
  const down = watchedGateway({}, { set, store: { write: away, read: away, delete: away } })
  const unread = watchedGateway({}, { set: null })
  await unread.gateway.http()
  for (const { gateway, clock } of [up, clear, debug, down]) {
    for (let i = 0; i < 40; i++) await gateway.http({ key: KEYS.free })
    clock.now += 60_000
    for (let i = 0; i < 3; i++) await gateway.http({ key: KEYS.free })
    await gateway.authorize({})
  }
  return [up, clear, debug, down, unread].flatMap((each) => each.lines).concat(...passing())
}

/** Lines about requests that pass over a limit, and metrics of a busy instance. */
function passing(): string[] {
  const { lines, telemetry, clock } = watched()
  const origin = { subject: 'client#Wq0k2m', method: 'POST', route: 'POST /orders', caller: () => ({}) }
  for (let i = 0; i < 3; i++) telemetry.onEvent({ kind: 'store-call', ms: 3.2 + i })
  telemetry.onEvent({ kind: 'store-call', ms: 300, failure: 'timeout' })
  telemetry.onEvent({ kind: 'conflict' })
  for (const exceeded of ['observe', 'overrun', 'deprioritize'] as const) {
    const over = { ...standing({ remaining: 0 }), exceeded }
    const decision = decisionOf('per-minute', { 'per-minute': over })
    telemetry.answered(toContext({ decision, tier: 'free', now: clock.now }), decision, origin, clock.now)
  }
  telemetry.onEvent({ kind: 'clock', state: 'wrong', offMs: 31_536_000_412 })
  telemetry.onEvent({ kind: 'clock', state: 'right', offMs: -180 })
  telemetry.onEvent({ kind: 'circuit', state: 'open' })
  telemetry.onEvent({ kind: 'circuit', state: 'closed' })
  return lines
}

const code = [LAMBDA, join(LAMBDA, '..', 'limiter')]
  .flatMap((room) => readdirSync(room, { recursive: true, encoding: 'utf8' }).map((name) => join(room, name)))
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n')

describe('docs/observability.md', () => {
  it.each(EXAMPLES)('has an example that is written so: %s', async (example) => {
    expect(brokenRules(example)).toEqual([])
    expect(await lines()).toContain(example)
  })

  it('has an example of metrics, and of each line about a request', () => {
    const examples = EXAMPLES.map((text) => JSON.parse(text))
    expect(examples.some(({ _aws }) => _aws)).toBe(true)
    const aboutRequests = /^(request_|limit_|decision_without|identity_unv|circuit_|clock_)/
    expect(new Set(examples.flatMap(({ event = [] }) => event))).toEqual(
      new Set(Object.keys(EVENTS).filter((event) => aboutRequests.test(event))),
    )
  })

  it('names every event of the log', () => {
    expect(
      Object.keys(EVENTS).filter((event) => !PAGE.includes(`"event":"${event}"`) && !PAGE.includes(`\`${event}\``)),
    ).toEqual([])
  })

  it('knows no event that nothing logs', () => {
    expect(Object.keys(EVENTS).filter((event) => !code.includes(`'${event}'`))).toEqual([])
  })

  it('explains every metric', () => {
    const names = [...readFileSync(join(LAMBDA, 'telemetry/emf.ts'), 'utf8').matchAll(/^ {2}\| '(\w+)'$/gm)].map(
      ([, name]) => name!,
    )
    expect(names).toHaveLength(16)
    expect(names.filter((name) => !explains(PAGE, name))).toEqual([])
  })
})
