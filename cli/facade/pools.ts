/** Units of a subject that lie in pools, from which instances lease them. */

import { poolOf, poolsNamedIn, spendableIn } from '../../limiter/consistency/pools'
import type { CompiledPolicy } from './decisions'
import type { StateStore } from './tables'
import type { EpochMs } from './values'

export { poolsNamedIn }

/** A subject's own item, and of each policy the units that lie in its pools: they are charged, and not used yet. */
export async function withPools(store: Pick<StateStore, 'read'>, key: string, now: EpochMs) {
  const item = await store.read(key)
  const pools = await Promise.all(
    poolsNamedIn(key, item).map(async ({ keys, holds }) => {
      const units = await Promise.all(keys.map(async (pool) => spendableIn(poolOf(await store.read(pool)), now)))
      return { holds, units: units.reduce((sum, one) => sum + one, 0) }
    }),
  )
  const unspentOf = (policy: CompiledPolicy) =>
    pools.reduce((sum, { holds, units }) => sum + (holds(policy) ? units : 0), 0)
  return { item, unspentOf }
}

/** Units charged, those past the limit included; none of those where units come back one by one. */
export function chargedTo(
  { unlimited, drains }: CompiledPolicy,
  fields: Parameters<CompiledPolicy['counter']['step']>[0],
  now: EpochMs,
): number {
  if (drains) return 0
  const { counter } = unlimited()
  return counter.step({}, 0, now).verdict.remaining - counter.step(fields, 0, now).verdict.remaining
}
