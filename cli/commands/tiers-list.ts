import { contentOf, isInFile, type PolicySetItem } from '../../provisioning/tiers-file'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { limitText } from '../terminal/output'
import { inline } from '../tiers/diff-text'
import { switchText, warnOfSwitch } from '../tiers/mode-switch'
import { readItem } from '../tiers/read-policy-set'
import { titleOf } from '../tiers/titles'

export const addTiersList: AddCommand = (group, session) => {
  describeTableCommand(group, 'list', 'List tiers, routes and global policies.', [
    'sluice tiers list',
    'sluice tiers list --endpoint http://127.0.0.1:8000',
  ]).action(async (options: OutputOptions) => {
    const { print } = session
    const all = (await (await session.connect(options).configTable()).policySet()).map(({ item }) => item)
    warnOfSwitch(session, switchText(all))
    const items = all.filter(isInFile)
    if (options.json) return print.json(items.map(asJson))
    if (items.length === 0) return print.note('nothing is configured yet: run sluice tiers apply tiers.yaml')
    print.table(
      ['what', 'by', 'policies'],
      items.map((item) => {
        const { by, policies, ...rest } = contentOf(item)
        const problems = readItem(item).issues.map((sentence) =>
          print.style('red', `invalid, the last valid version stays in force: ${sentence}`),
        )
        return [titleOf(item.sk), textOf(by), [...problems, ...fieldTexts(rest), ...policyLines(policies)]]
      }),
    )
  })
}

/** @returns the item, with `mistakes` where it is not in force as it stands. */
function asJson(item: PolicySetItem): object {
  const { issues } = readItem(item)
  const { pk: _pk, ...shown } = item
  return { ...shown, ...(issues.length > 0 && { mistakes: issues }) }
}

const textOf = (value: unknown): string => (value === undefined ? '' : inline(value))
const fieldTexts = (fields: object): string[] =>
  Object.entries(fields).map(([field, value]) => `${field}: ${inline(value)}`)

/** `per-minute: 60 per 1m, sliding-window`. */
function policyLines(policies: unknown): string[] {
  if (!Array.isArray(policies)) return []
  return policies.map((policy) => {
    const { name, limit, window, ...rest } = (policy ?? {}) as Record<string, unknown>
    return [`${String(name)}: ${limitText(String(limit), window as string | undefined)}`, ...fieldTexts(rest)].join(
      ', ',
    )
  })
}
