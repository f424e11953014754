import { parsePolicyItem } from '../../lambda/tiers/config-items'
import { isInFile, type PolicySetItem } from '../../lambda/tiers/tiers-file'
import { type AddCommand, type Answering, describeAnswering } from '../command'
import { inline, titleOf } from '../diff-text'
import { warnOfSwitch } from '../mode-switch'

export const addTiersList: AddCommand = (group, session) => {
  describeAnswering(group, 'list', 'List tiers, routes and what holds for everybody, with their policies.', [
    'sluice tiers list',
    'sluice tiers list --endpoint http://127.0.0.1:8000',
  ]).action(async (options: Answering) => {
    const { print } = session
    const all = (await (await session.connect(options).configTable()).policySet()).map(({ item }) => item)
    warnOfSwitch(session, all)
    const items = all.filter(isInFile)
    if (options.json) return print.json(items.map(({ pk, ...item }) => ({ ...item, ...withMistakes({ pk, ...item }) })))
    if (items.length === 0) return print.note('nothing is configured yet: sluice tiers apply tiers.yaml')
    print.table(
      ['what', 'by', 'policies'],
      items.map(({ sk, by, policies, pk, ...rest }) => {
        const { mistakes = [] } = withMistakes({ sk, by, policies, pk, ...rest })
        const told = mistakes.map((sentence) => print.style('red', `mistake, the last valid version holds: ${sentence}`))
        return [titleOf(sk), textOf(by), [...told, ...fieldTexts(rest), ...policyLines(policies)].join('\n')]
      }),
    )
  })
}

/** Why an item is not in force as it stands; nothing where it is. */
function withMistakes(item: PolicySetItem): { readonly mistakes?: readonly string[] } {
  const mistakes: string[] = []
  parsePolicyItem(item, mistakes)
  return mistakes.length > 0 ? { mistakes } : {}
}

const textOf = (value: unknown): string => (value === undefined ? '' : inline(value))
const fieldTexts = (fields: object): string[] => Object.entries(fields).map(([field, value]) => `${field}: ${inline(value)}`)

/** `per-minute: 60 per 1m, sliding-window`. */
function policyLines(policies: unknown): string[] {
  if (!Array.isArray(policies)) return []
  return policies.map((policy) => {
    const { name, limit, window, ...rest } = (policy ?? {}) as Record<string, unknown>
    return [`${String(name)}: ${String(limit)} per ${String(window)}`, ...fieldTexts(rest)].join(', ')
  })
}
