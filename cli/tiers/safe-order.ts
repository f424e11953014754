import { tierKey } from '../../lambda/config-table/items/config-items'
import { ANONYMOUS } from '../../lambda/config-table/items/tiers'
import type { Change, PolicySetItem } from '../../provisioning/tiers-file'
import { readPolicySet } from './read-policy-set'

/** An item is added before items that refer to it, and deleted after them. */
const RANKS = [
  'add tier',
  'change tier',
  'add route',
  'change route',
  'add global',
  'change global',
  'add settings',
  'change settings',
]
const LAST_RANKS = ['remove settings', 'remove global', 'remove route', 'remove tier']

/**
 * Orders changes so that the configuration is valid after each of them: whoever reads in between, and whatever the last
 * write was, finds nothing wrong that was not wrong before.
 *
 * @returns the changes in order, and those for which there is no such order by single writes; without them the others
 * are no whole.
 */
export function safeOrder(
  items: readonly PolicySetItem[],
  changes: readonly Change[],
): { readonly steps: Change[]; readonly stuck: Change[] } {
  const allowed = new Set(readPolicySet(items).issues.map(String))
  const now = new Map(items.map((item) => [item.sk, item]))
  const stuck = [...changes].sort((a, b) => rank(a) - rank(b) || (a.sk < b.sk ? -1 : 1))
  const steps: Change[] = []
  for (;;) {
    const next = stuck.findIndex((change) =>
      readPolicySet([...applied(now, [change]).values()]).issues.every(({ message }) => allowed.has(message)),
    )
    if (next < 0) return { steps, stuck }
    const [step] = stuck.splice(next, 1)
    steps.push(step!)
    apply(now, step!)
  }
}

/** The items after some changes. */
export function applied(
  items: ReadonlyMap<string, PolicySetItem>,
  changes: readonly Change[],
): Map<string, PolicySetItem> {
  const after = new Map(items)
  for (const change of changes) apply(after, change)
  return after
}

function apply(items: Map<string, PolicySetItem>, { sk, after }: Change): void {
  if (after) items.set(sk, after)
  else items.delete(sk)
}

function rank({ kind, sk }: Change): number {
  if (kind === 'add' && sk === tierKey(ANONYMOUS).sk) return -1 // without it nothing is valid
  const name = `${kind} ${sk.split(/#| @/, 1)[0]}`
  const last = LAST_RANKS.indexOf(name)
  return last < 0 ? RANKS.indexOf(name) : RANKS.length + last
}
