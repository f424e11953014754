import type { EpochMs } from './clock'
import { fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { type GivingSubjects, giveBackOnce } from './give-back'
import { refundsOf } from './refund-writes'
import type { Charge, ChargeTime } from './request'
import { inWrites } from './stores/expression-budget'
import type { Item, PolicyWrite } from './stores/store'
import type { View } from './subject-cache'

/** The subjects as they are stored and were last seen. */
export interface RefundedSubjects extends GivingSubjects {
  view(key: string): View | undefined
  /** What was last seen of a subject if that is recent, else what is stored. */
  recent(key: string, deadline: Deadline): Promise<View>
  readonly items: GivingSubjects['items'] & { read(key: string, deadline: Deadline): Promise<View> }
}

/**
 * Gives units that were charged back, as far as they can still be found; a policy whose window has passed has none.
 * Policies whose refunds find no room in one write get several, one after another: what one of them gave back stays
 * given back, whatever comes of the next.
 *
 * @throws StoreUnavailableError as `giveBackOnce`.
 */
export async function refund(
  subjects: RefundedSubjects,
  charge: Charge,
  charged: ChargeTime,
  deadline: Deadline,
): Promise<void> {
  const { key } = charge
  const see = async () => (await subjects.recent(key, deadline)).item
  const refundOnce = (isMeant: (part: PolicyWrite) => boolean) => {
    const partsOf = (item: Item, now: EpochMs) => refundWrites(charge, item, charged, now).filter(isMeant)
    return giveBackOnce(subjects, key, see, partsOf, deadline)
  }
  const [, ...others] = inWrites(await found(subjects, charge, charged, deadline))
  const apart = others.map((parts) => new Set(parts.map(({ prefix }) => prefix)))
  await refundOnce(({ prefix }) => !apart.some((prefixes) => prefixes.has(prefix)))
  for (const prefixes of apart) await refundOnce(({ prefix }) => prefixes.has(prefix))
}

/**
 * What there is to give back. A policy that has nothing by an earlier look may have been charged since by others, so
 * that is looked up.
 */
async function found(
  subjects: RefundedSubjects,
  charge: Charge,
  charged: ChargeTime,
  deadline: Deadline,
): Promise<PolicyWrite[]> {
  const { key, policies } = charge
  const known = subjects.view(key)
  const view = await subjects.recent(key, deadline)
  const writes = refundWrites(charge, view.item, charged, subjects.now())
  if (view !== known || writes.length === policies.length) return writes
  const { item } = await subjects.items.read(key, deadline)
  return refundWrites(charge, item, charged, subjects.now())
}

const refundWrites = (charge: Charge, item: Item, charged: ChargeTime, now: EpochMs): PolicyWrite[] =>
  refundsOf(
    charge,
    charge.policies.map((policy) => fieldsOf(item, policy)!),
    charged,
    now,
  )
