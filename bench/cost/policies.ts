import type { PolicyInput } from '../../limiter'

const WINDOWS_IN_MINUTES = { 'per-minute': 1, 'per-second': 1 / 60, 'per-hour': 60, 'per-day': 1440 } as const
const WRITTEN = { 'per-minute': '1m', 'per-second': '1s', 'per-hour': '1h', 'per-day': '1d' } as const

/** The part of a minute's units that one second may take: a limit on bursts. */
const BURST = 10

/**
 * That many limits on one caller, the one per minute the tightest of them; of 4, by the second, minute, hour and day,
 * as plans of APIs have them. Beyond that every two, three, … hours.
 */
export function limitsOf(count: number, perMinute: number): PolicyInput[] {
  const named = Object.keys(WRITTEN) as (keyof typeof WRITTEN)[]
  return Array.from({ length: count }, (_, i): PolicyInput => {
    const name = named[i]
    if (name === undefined) return { name: `per-${i - 2}-hours`, limit: perMinute * 60 * (i - 2), window: `${i - 2}h` }
    const limit = Math.ceil(perMinute * WINDOWS_IN_MINUTES[name]) * (name === 'per-second' ? BURST : 1)
    return { name, limit, window: WRITTEN[name], ...(name === 'per-day' && { algorithm: 'fixed-window' as const }) }
  })
}
