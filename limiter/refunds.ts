import type { EpochMs } from './clock'
import { fieldsOf } from './compiled-policy'
import { giveBackOnce } from './give-back'
import { type Plan, READ, type SubjectItems } from './items'
import { refundsOf } from './refund-writes'
import type { Charge, ChargeTime } from './request'
import { inWrites } from './stores/expression-budget'
import type { Item, PolicyWrite } from './stores/store'

/**
 * Gives units that were charged back, as far as they can still be found; a policy whose window has passed has none.
 * Policies whose refunds find no room in one write get several, one after another: what one of them gave back stays
 * given back, whatever comes of the next.
 *
 * @throws StoreUnavailableError as `giveBackOnce`.
 */
export function* refund(items: SubjectItems, charge: Charge, charged: ChargeTime): Plan<void> {
  const refundOnce = (isMeant: (part: PolicyWrite) => boolean) =>
    giveBackOnce(
      items,
      () => recentItem(items, charge.key),
      (item, now) => refundWrites(charge, item, charged, now).filter(isMeant),
    )
  const [, ...others] = inWrites(yield* found(items, charge, charged))
  const apart = others.map((parts) => new Set(parts.map(({ prefix }) => prefix)))
  yield* refundOnce(({ prefix }) => !apart.some((prefixes) => prefixes.has(prefix)))
  for (const prefixes of apart) yield* refundOnce(({ prefix }) => prefixes.has(prefix))
}

/** What was last seen of a subject if that is recent, else what is stored. */
function* recentItem(items: SubjectItems, key: string): Plan<Item> {
  return items.recentView(key)?.item ?? (yield READ).item
}

/**
 * What there is to give back. A policy that has nothing by an earlier look may have been charged since by others, so
 * that is looked up.
 */
function* found(items: SubjectItems, charge: Charge, charged: ChargeTime): Plan<PolicyWrite[]> {
  const { key, policies } = charge
  const known = items.recentView(key)?.item
  const item = known ?? (yield READ).item
  const writes = refundWrites(charge, item, charged, items.now())
  if (item !== known || writes.length === policies.length) return writes
  return refundWrites(charge, (yield READ).item, charged, items.now())
}

const refundWrites = (charge: Charge, item: Item, charged: ChargeTime, now: EpochMs): PolicyWrite[] =>
  refundsOf(
    charge,
    charge.policies.map((policy) => fieldsOf(item, policy)!),
    charged,
    now,
  )
