import { invalidValue, printed } from '../limiter/errors'
import type { Limiter } from '../limiter/limiter'
import type { TieredLimiter } from '../tiered/tiered-decision'

/** A limiter from `createLimiter`, as far as a middleware calls it. */
export type RequestLimits = Pick<
  Limiter,
  'take' | 'acquire' | 'refund' | 'settle' | 'meter' | 'countsRunning' | 'costNames'
>

/** A limiter from `createTieredLimiter`, as far as a middleware calls it. */
export type TieredLimits = Pick<TieredLimiter, 'decide' | 'settle' | 'meter'>

/** What a middleware limits by. */
export type Limits = RequestLimits | TieredLimits

const hasAll = (limiter: unknown, names: readonly string[]): boolean =>
  names.every((name) => typeof (limiter as Record<string, unknown> | undefined)?.[name] === 'function')

export const isTiered = (limiter: unknown): limiter is TieredLimits => hasAll(limiter, ['decide', 'settle', 'meter'])

export const isLimiter = (limiter: unknown): limiter is Limits =>
  isTiered(limiter) || hasAll(limiter, ['take', 'acquire', 'refund', 'settle', 'meter'])

/** @throws ConfigError where it is no limiter, or tiers that say themselves what they reserve. */
export function checkLimiter(limiter: unknown, reserve: unknown): void {
  if (!isLimiter(limiter))
    throw invalidValue(
      `limiter must return what createLimiter or createTieredLimiter returned, or undefined, got ${printed(limiter)}`,
    )
  if (isTiered(limiter) && reserve !== undefined)
    throw invalidValue(`reserve must be left out with tiers, whose policies say \`settle\`, got ${printed(reserve)}`)
}
