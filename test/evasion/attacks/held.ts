import type { Attack } from '../attack'
import { limit } from '../rules'

const tokens = (units: number) => limit('tokens', units, { algorithm: 'fixed-window', cost: 'tokens', settle: true })
const running = { name: 'running', algorithm: 'concurrency', limit: 4, timeout: '1m' }
const rules = (policies: readonly object[], route: object = { costs: { tokens: 500 } }) => ({
  settings: { identity: [{ source: 'ip', trustedHops: 1 }] },
  tiers: { anonymous: { by: 'ip', policies } },
  routes: { 'POST /chat': route },
})
const CHAT = { method: 'POST', path: '/chat' }
const OWN = {
  reservation: 'WyJ4Il0.W10',
  'X-Reservation': 'WyJ4Il0.W10',
  'Idempotency-Key': 'one',
  'X-Amzn-Trace-Id': 'Root=1-1',
}

/** Before there were costs by name and slots, nothing held such requests. */
const attack = (tried: string, passes: number, now: string, more: Partial<Attack> = {}): Attack => ({
  about: 'Costs known afterwards, and what runs',
  tried,
  sends: CHAT,
  passes,
  now,
  rules: rules([tokens(5000)]),
  ...more,
})

export const HELD: readonly Attack[] = [
  attack('many at once, before the first is settled', 10, 'reserved units are charged'),
  attack('clients that leave, so that nothing is settled', 10, 'unsettled units stay charged', {
    everyMs: 60_000,
  }),
  attack('a reservation of the client’s own', 10, 'requests have none', {
    sends: (n) => ({ ...CHAT, path: n % 2 === 0 ? '/chat' : '/chat?reservation=x&settle=0', headers: OWN }),
  }),
  attack('an estimate that the client makes small', 10, '`max`', {
    sends: (n) => ({ ...CHAT, headers: { 'X-Max-Tokens': ['-1e9', '0x1', '1e-9', '9'.repeat(40)][n % 4]! } }),
    rules: rules([tokens(5000)], { costs: { tokens: { header: 'x-max-tokens', default: 500, max: 500 } } }),
  }),
  attack('a route that settles nothing, by another spelling', 10, 'the strictest of all readings', {
    sends: (n) => ({ ...CHAT, path: ['/chat', '//chat', '/%63hat', '/x/../chat'][n % 4]! }),
  }),
  attack('more at once than may run', 4, 'a slot is taken in the same write', { rules: rules([running], {}) }),
  attack('the same at cost 0', 30, 'cost 0 is not counted', {
    rules: rules([running], { cost: 0 }),
  }),
  attack('one every ten seconds that never ends', 18, 'a slot is free after its timeout', {
    everyMs: 10_000,
    rules: rules([running], {}),
  }),
]
