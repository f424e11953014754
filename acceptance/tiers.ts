import type { TiersInCode } from '../lib/tiers-props'

/** Of a caller in the tier `few`, who can use it up. */
export const FEW = 5
/** Of a caller in the tier `changing`, until a check changes it. */
export const CHANGING = 7
/** Of the units `tokens` that a caller has a day, and that a request of `/chat` reserves. */
export const TOKENS = { limit: 2000, reserved: 500 } as const

/** The window is long, and begins with the first request: it does not end in the middle of a check. */
const perHour = (limit: number) => ({ name: 'per-hour', limit, window: '1h', algorithm: 'anchored-window' }) as const

/** The limits that the checks meet. A check makes its own callers, so that none uses up what another counts. */
export const TIERS = {
  tiers: {
    anonymous: { by: 'ip', policies: [perHour(5000)] },
    few: { policies: [perHour(FEW)] },
    many: { policies: [perHour(100_000)] },
    changing: { policies: [perHour(CHANGING)] },
  },
  routes: {
    'POST /chat': {
      costs: { tokens: TOKENS.reserved },
      settle: true,
      policies: [
        {
          name: 'tokens-per-day',
          limit: TOKENS.limit,
          window: '1d',
          algorithm: 'anchored-window',
          cost: 'tokens',
          by: 'client',
        },
      ],
    },
  },
} as const satisfies TiersInCode
