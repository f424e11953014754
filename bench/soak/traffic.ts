import { clientKey } from '../../lambda/config-table/items/config-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import type { PolicyInput } from '../../limiter'
import { itemsOf } from '../../provisioning/tiers-file'
import type { Asked } from '../authorizer-event'
import { below } from '../random'

/** All windows lie on this grid, so that what was admitted in one can be counted from outside. */
export const WINDOW_MS = 10_000
const WINDOW = '10s'

const fixed = (name: string, limit: number, more: Partial<PolicyInput> = {}) =>
  ({ name, algorithm: 'fixed-window', limit, window: WINDOW, ...more }) as const

/** A kind of caller: how many there are, and their share of the requests. */
interface Callers {
  readonly kind: 'steady' | 'abusive' | 'unknown' | 'hot'
  readonly count: number
  readonly share: number
}

const CALLERS: readonly Callers[] = [
  { kind: 'steady', count: 50, share: 0.45 },
  { kind: 'abusive', count: 4, share: 0.25 },
  { kind: 'unknown', count: 5, share: 0.15 },
  { kind: 'hot', count: 20, share: 0.15 },
]

/** A request, and the limits that it is counted by. */
export interface Sent {
  readonly kind: Callers['kind']
  readonly asked: Asked
  /** The counters that it is counted by, each with its limit in a window. */
  readonly bounds: readonly {
    readonly counter: string
    readonly limit: number
    readonly consistency: 'strict' | 'leased'
  }[]
}

/**
 * Requests of clients with four policies, of clients that ask far too often, with unknown keys, and to a route that all
 * share; all under a global limit.
 */
export class Traffic {
  private readonly limits: Readonly<Record<Callers['kind'] | 'global', number>>
  private made = 0

  /**
   * @param rate requests a second, by which the limits are set: half of what the abusive, the unknown and the hot route
   * are asked for.
   */
  constructor(
    rate: number,
    private readonly random: () => number,
  ) {
    const asked = ({ share, count }: Callers) => (rate * share * WINDOW_MS) / 1000 / count
    const [steady, abusive, unknown, hot] = CALLERS as [Callers, Callers, Callers, Callers]
    const half = (callers: Callers) => Math.max(1, Math.floor(asked(callers) / 2))
    const shared = Math.max(1, Math.floor((rate * hot.share * WINDOW_MS) / 2000))
    this.limits = {
      steady: Math.ceil(asked(steady) * 4) + 10,
      abusive: half(abusive),
      unknown: half(unknown),
      hot: shared,
      global: Math.ceil((rate * WINDOW_MS) / 1000) * 2,
    }
  }

  /** The items of the config table. */
  items(): object[] {
    const { limits } = this
    const roomy = [
      fixed('per-hour', 1e6, { window: '1h' }),
      { name: 'pace', algorithm: 'gcra', limit: 1e5, window: '1m', burst: 1e5 },
      { name: 'per-day', limit: 1e7, window: '1d' },
    ]
    const tier = (limit: number) => ({ policies: [fixed('per-window', limit), ...roomy] })
    const set = itemsOf({
      tiers: {
        anonymous: { by: 'ip', policies: [fixed('per-window', limits.unknown)] },
        steady: tier(limits.steady),
        abusive: tier(limits.abusive),
      },
      routes: { 'GET /hot': { policies: [fixed('hot', limits.hot, { by: 'route', consistency: 'leased' } as never)] } },
      global: { policies: [fixed('global', limits.global, { consistency: 'leased' })] },
    })
    const clients = CALLERS.filter(({ kind }) => kind !== 'unknown').flatMap(({ kind, count }) =>
      Array.from({ length: count }, (_, i) => ({
        ...clientKey(hashApiKey(`${kind}-${i}`)),
        id: `${kind}-${i}`,
        tier: kind === 'abusive' ? kind : 'steady',
      })),
    )
    return [...set, ...clients]
  }

  next(): Sent {
    const { kind, count } = this.anyCallers()
    const who = below(this.random, count)
    return kind === 'unknown' ? this.anonymous(who) : this.client(kind, who)
  }

  private anyCallers(): Callers {
    let dice = this.random()
    for (const callers of CALLERS) {
      dice -= callers.share
      if (dice < 0) return callers
    }
    return CALLERS[0]!
  }

  /** A caller with an unknown key. */
  anonymous(who: number): Sent {
    const asked = { path: '/hello', ip: `198.51.100.${who}`, apiKey: `made up ${this.made++}` }
    return {
      kind: 'unknown',
      asked,
      bounds: [{ counter: `unknown-${who}`, limit: this.limits.unknown, consistency: 'strict' }, this.global],
    }
  }

  private client(kind: 'steady' | 'abusive' | 'hot', who: number): Sent {
    const { limits, global } = this
    const asked = { path: kind === 'hot' ? '/hot' : '/hello', ip: '192.0.2.1', apiKey: `${kind}-${who}` }
    const own = {
      counter: `${kind}-${who}`,
      limit: kind === 'abusive' ? limits.abusive : limits.steady,
      consistency: 'strict',
    } as const
    const shared = kind === 'hot' ? [{ counter: 'GET /hot', limit: limits.hot, consistency: 'leased' } as const] : []
    return { kind, asked, bounds: [own, ...shared, global] }
  }

  private get global() {
    return { counter: 'global', limit: this.limits.global, consistency: 'leased' } as const
  }
}
