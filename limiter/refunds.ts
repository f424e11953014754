import type { EpochMs } from './clock'
import { fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { giveBackOnce } from './give-back'
import { refundsOf } from './refund-writes'
import type { Charge, ChargeTime } from './request'
import { inWrites } from './stores/expression-budget'
import type { Item, PolicyWrite } from './stores/store'
import type { SubjectItems } from './subject-items'

/**
 * Gives units that were charged back, as far as they can still be found; a policy whose window has passed has none.
 * Policies whose refunds find no room in one write get several, one after another: what one of them gave back stays
 * given back, whatever comes of the next.
 *
 * @throws StoreUnavailableError as `giveBackOnce`.
 */
export async function refund(
  items: SubjectItems,
  charge: Charge,
  charged: ChargeTime,
  deadline: Deadline,
): Promise<void> {
  const { key } = charge
  const see = async () => (await items.recent(key, deadline)).item
  const refundOnce = (isMeant: (part: PolicyWrite) => boolean) => {
    const partsOf = (item: Item, now: EpochMs) => refundWrites(charge, item, charged, now).filter(isMeant)
    return giveBackOnce(items, key, see, partsOf, deadline)
  }
  const [, ...others] = inWrites(await found(items, charge, charged, deadline))
  const apart = others.map((parts) => new Set(parts.map(({ prefix }) => prefix)))
  await refundOnce(({ prefix }) => !apart.some((prefixes) => prefixes.has(prefix)))
  for (const prefixes of apart) await refundOnce(({ prefix }) => prefixes.has(prefix))
}

/**
 * What there is to give back. A policy that has nothing by an earlier look may have been charged since by others, so
 * that is looked up.
 */
async function found(
  items: SubjectItems,
  charge: Charge,
  charged: ChargeTime,
  deadline: Deadline,
): Promise<PolicyWrite[]> {
  const { key, policies } = charge
  const known = items.view(key)
  const view = await items.recent(key, deadline)
  const writes = refundWrites(charge, view.item, charged, items.now())
  if (view !== known || writes.length === policies.length) return writes
  const { item } = await items.read(key, deadline)
  return refundWrites(charge, item, charged, items.now())
}

const refundWrites = (charge: Charge, item: Item, charged: ChargeTime, now: EpochMs): PolicyWrite[] =>
  refundsOf(
    charge,
    charge.policies.map((policy) => fieldsOf(item, policy)!),
    charged,
    now,
  )
