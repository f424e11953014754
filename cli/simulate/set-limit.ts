import { fileOf, isInFile, itemsOf, type PolicySetItem } from '../../provisioning/tiers-file'
import { UserError } from '../exit'
import { ConfigError, printed, suggestion } from '../facade/values'
import { readPolicySet } from '../tiers/read-policy-set'

/** A policy with other numbers, as `--set` says it. */
export interface SetLimit {
  /** As it was written. */
  readonly text: string
  /** `free.per-minute`: the name of a tier, the pattern of a route or `global`, and of the policy. */
  readonly policy: string
  readonly numbers: { readonly limit: number; readonly burst?: number; readonly window?: string }
}

const SET = /^(.+)=(\d{1,15})(?::(\d{1,15}))?(?:\/([\w.]+))?$/s

/**
 * Reads `free.per-minute=30`, `free.per-minute=30/1m` and `free.bucket=30:60/1m`, whose burst is 60.
 *
 * @throws UserError
 */
export function parseSets(texts: readonly string[]): SetLimit[] {
  const sets = texts.map((text): SetLimit => {
    const [, policy, limit, burst, window] = SET.exec(text.trim()) ?? []
    if (policy === undefined)
      throw new UserError(
        `--set must be a tier, its policy and a limit, such as "free.per-minute=30" or "free.per-minute=30/1m", got ${printed(text)}`,
      )
    const numbers = { limit: Number(limit), ...(burst && { burst: Number(burst) }), ...(window && { window }) }
    return { text: text.trim(), policy: policy.trim(), numbers }
  })
  const names = sets.map(({ policy }) => policy)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) throw new UserError(`--set names ${printed(twice)} twice`)
  return sets
}

type Content = Readonly<Record<string, unknown>>
type Part = 'tiers' | 'routes' | 'global'

/**
 * The items with these limits in the place of theirs.
 *
 * @param title what to call them.
 * @throws UserError for a policy that is not there, ConfigError for numbers that it cannot have.
 */
export function withLimits(items: readonly PolicySetItem[], sets: readonly SetLimit[], title: string): PolicySetItem[] {
  let file = fileOf(items)
  for (const { policy, numbers } of sets) {
    const places = placesIn(file)
    const found = places.filter(({ name }) => name === policy)
    const names = [...new Set(places.map(({ name }) => name))]
    if (found.length === 0)
      throw new UserError(`--set: ${title} has no policy ${printed(policy)}${suggestion(policy, names)}`)
    if (found.length > 1)
      throw new UserError(
        `--set: ${printed(policy)} is ${found.length} policies of ${title}: rename one to tell them apart`,
      )
    const [{ part, owner, index }] = found as [Place]
    const change = (content: Content): Content => ({
      ...content,
      policies: policiesIn(content).map((one, i) => (i === index ? { ...one, ...numbers } : one)),
    })
    file =
      part === 'global'
        ? { ...file, global: change(file.global!) }
        : { ...file, [part]: { ...file[part], [owner]: change(file[part]![owner]!) } }
  }
  const changed = [...itemsOf(file), ...items.filter((item) => !isInFile(item))]
  const before = new Set(readPolicySet(items).issues.map(String))
  const issues = readPolicySet(changed).issues.filter((issue) => !before.has(String(issue)))
  if (issues.length > 0) throw new ConfigError(issues)
  return changed
}

interface Place {
  /** As `--set` names it. */
  readonly name: string
  readonly part: Part
  readonly owner: string
  /** Among the policies of its owner. */
  readonly index: number
}

function placesIn({ tiers, routes = {}, global }: ReturnType<typeof fileOf>): Place[] {
  const owners: readonly (readonly [Part, string, Content])[] = [
    ...Object.entries(tiers).map(([name, content]) => ['tiers', name, content] as const),
    ...Object.entries(routes).map(([name, content]) => ['routes', name, content] as const),
    ...(global ? [['global', 'global', global] as const] : []),
  ]
  return owners.flatMap(([part, owner, content]) =>
    policiesIn(content).map(({ name }, index) => ({ name: `${owner}.${name}`, part, owner, index })),
  )
}

/** What is no list of policies is told as an issue elsewhere. */
const policiesIn = ({ policies }: Content): readonly Content[] =>
  Array.isArray(policies) ? policies.filter((one) => typeof one === 'object' && one !== null) : []
