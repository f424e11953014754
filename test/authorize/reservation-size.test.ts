import { randomBytes } from 'node:crypto'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { MAX_RESERVATION } from '../../lambda/responses/headers'
import { MAX_UNITS } from '../../limiter/algorithms/algorithm'
import { compile } from '../../limiter/compiled-policy'
import { MAX_HOLD_MS } from '../../limiter/policies/duration'
import { MAX_POLICIES } from '../../limiter/policies/parse-policies'
import { Reservation } from '../../limiter/reservations/reservation'
import { policy } from '../policies/issues'

const LONG = { action: 'observe', settle: '24h', limit: 999_999_999_999_999 }

/** As many policies as one request is held to, with the longest of what is written in them. */
const WAYS: readonly object[] = [
  { ...LONG, algorithm: 'sliding-buckets', buckets: 120 },
  { ...LONG, algorithm: 'fixed-window', window: 'month', timezone: 'America/Argentina/Buenos_Aires' },
  { ...LONG, algorithm: 'sliding-log', limit: 99, countDenied: true },
  { ...LONG, algorithm: 'token-bucket', limit: 86_399_999, burst: 86_400_123, refill: 'interval' },
]

it.each([1, 5, MAX_POLICIES - 1])(
  'the longest reservation fits the answer to a WebSocket API: all policies of a request, of %i subjects',
  (subjects) => {
    const costs = Array.from({ length: 16 }, (_, i) => `tokens-${i}-of-a-model-with-lo`.slice(0, 24))
    const policies = Array.from({ length: MAX_POLICIES - 1 }, (_, i) => ({
      window: `${24 + i}h`,
      ...WAYS[i % WAYS.length],
      name: `policy-${i}`,
      cost: costs[i % 16],
      by: subjects === 1 ? 'ip' : [`claim:dimension-${i % subjects}`],
    }))
    const { routes } = parseTiersFile(
      {
        tiers: { anonymous: { by: 'ip', policies: [policy()] } },
        routes: { 'POST /chat': { costs: Object.fromEntries(costs.map((name) => [name, 5])), policies } },
      },
      'tiers.yaml',
    )
    const own = routes[0]!.policies
    const key = () => `client#${randomBytes(32).toString('base64url')}`
    const charges = Array.from({ length: subjects }, (_, i) => ({
      key: key(),
      policies: own.filter((_one, j) => j % subjects === i).map((one) => compile(one, key())),
      cost: 1,
      costs: Object.fromEntries(costs.map((name) => [name, MAX_UNITS])),
    }))
    const { longestToken } = new Reservation(charges, MAX_HOLD_MS, () => true, key())
    expect(longestToken).toBeGreaterThan(500)
    expect(longestToken).toBeLessThanOrEqual(MAX_RESERVATION)
  },
)
