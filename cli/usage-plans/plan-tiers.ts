import { contentHash, itemsOf, type PolicySetItem, type TiersFile } from '../../provisioning/tiers-file'
import { ConfigError } from '../facade/values'
import { type ApplyPlan, planApply } from '../tiers/apply-plan'
import { titleOf } from '../tiers/titles'
import type { Left } from './to-tiers'

/**
 * What is written of the tiers and routes: only what the table does not have. An item that it has stays, since
 * somebody may have edited it; and a new route is left out beside others of the table, whose rules it would replace for
 * its path.
 *
 * @throws ConfigError where the table would be invalid with them.
 */
export function planTiers(
  items: readonly PolicySetItem[],
  file: TiersFile,
): { readonly plan: ApplyPlan; readonly unchanged: number; readonly left: readonly Left[] } {
  const stored = new Map(items.map((item) => [item.sk, item]))
  const wanted = itemsOf(file)
  const own = new Set(wanted.map(({ sk }) => sk))
  const hasOthers = items.some(({ sk }) => sk.startsWith('route#') && !own.has(sk))
  const left: Left[] = []
  const isNew = (sk: string): boolean => {
    const isThere = stored.has(sk)
    if (isThere || !hasOthers || !sk.startsWith('route#')) return !isThere
    const why = 'the table has routes, and another would replace their rules for its path: add the policy by hand'
    left.push({ what: titleOf(sk), why })
    return false
  }
  let unchanged = 0
  for (const item of wanted) {
    const before = stored.get(item.sk)
    if (!before) continue
    if (contentHash(before) === contentHash(item)) unchanged++
    else left.push({ what: titleOf(item.sk), why: 'the table already has it with other limits, which are kept' })
  }
  const those = (kind: 'tier' | 'route', fields: Readonly<Record<string, object>> = {}) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => isNew(`${kind}#${name}`))) as TiersFile['tiers']
  const plan = planApply(items, { tiers: those('tier', file.tiers), routes: those('route', file.routes) }, false)
  if (plan.issues.length > 0) throw new ConfigError(plan.issues)
  return { plan, unchanged, left }
}
