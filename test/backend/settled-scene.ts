import { type Settler, settlerIn } from '../../backend/settler'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { Gateway, KEYS } from '../authorize/gateway'

export const TOKENS = {
  name: 'tokens',
  algorithm: 'fixed-window',
  limit: 10_000,
  window: '1h',
  cost: 'tokens',
  settle: true,
}
export const REQUESTS = { name: 'requests', algorithm: 'fixed-window', limit: 100, window: '1h' }

let settler: Settler

/** What `settlerFor` gives a function, by `jest.mock('../../backend/settler', …)`. */
export const settlerOfScene = {
  settle: (...given: Parameters<Settler['settle']>) => settler.settle(...given),
  releaseSlots: (...given: Parameters<Settler['releaseSlots']>) => settler.releaseSlots(...given),
}

/** An authorizer, the backend behind it, and what both have written. */
export function scene(policies: readonly object[] = [REQUESTS, TOKENS]) {
  const set = parseTiersFile(
    {
      tiers: { anonymous: { policies: [] }, free: { policies } },
      routes: { 'POST /chat': { costs: { tokens: 400 } } },
    },
    'f',
  )
  const gateway = new Gateway({ set })
  settler = settlerIn(gateway.store, gateway.clock.read)
  const ask = () => gateway.rest({ method: 'POST', path: '/chat', key: KEYS.free })
  /** The event that the backend gets, as a REST API makes it: every value a text. */
  const event = async () => {
    const { effect: _, ...context } = await ask()
    const authorizer = Object.fromEntries(Object.entries(context).map(([key, value]) => [key, String(value)]))
    return { httpMethod: 'POST', requestContext: { authorizer } }
  }
  const used = async () => {
    const { rateLimit } = await ask()
    return 10_000 - 400 - Number(/"tokens";r=(\d+)/.exec(rateLimit)![1])
  }
  /** How many reservations and slots are open. */
  const open = async () => {
    const [key] = [...(gateway.store as unknown as { items: Map<string, unknown> }).items.keys()]
    const { policies: stored } = await gateway.store.read(key!)
    return Object.values(stored).flatMap((fields) => Object.entries(fields).filter(([name]) => name.length === 25))
      .length
  }
  const write = jest.spyOn(gateway.store, 'write')
  return { gateway, event, used, open, write }
}

/** The kinds of warnings that the function's log has; each test begins with none, a minute after those before it. */
export function warnings(): string[] {
  const logged: string[] = []
  beforeEach(() => {
    process.env.SLUICE_STATE_TABLE = 'state'
    logged.length = 0
    jest.spyOn(process.stderr, 'write').mockImplementation((line) => {
      logged.push(JSON.parse(String(line)).event)
      return true
    })
    const [now, random] = [Date.now(), Math.random()]
    jest.spyOn(Date, 'now').mockReturnValue(now + Math.floor(random * 1e10))
  })
  afterEach(() => {
    jest.restoreAllMocks()
    delete process.env.SLUICE_STATE_TABLE
  })
  return logged
}
