import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { printed } from '../errors'
import type { Place } from '../policies/report'
import { parseRoute, parseTier, type Route, type Tier } from '../policies/tiers'

/** Keys of the config table; one `Query` on the partition `policy-set` finds all tiers and routes. */
export const CONFIG_TABLE = { partitionKey: 'pk', sortKey: 'sk', policySet: 'policy-set' } as const

export const tierKey = (name: string) => ({ pk: CONFIG_TABLE.policySet, sk: `tier#${name}` })
export const routeKey = (pattern: string) => ({ pk: CONFIG_TABLE.policySet, sk: `route#${pattern}` })
export const clientKey = (apiKeyHash: string) => ({ pk: `client#${apiKeyHash}`, sk: 'client' })

/** A client as the config table knows it, under the hash of its API key. */
export interface Client {
  readonly id: string
  readonly tier: string
}

/** An item as an object, without fields when it cannot be one. Numbers too large to be exact are as near as they get; checks turn them down. */
export function fromAttributes(attributes: Record<string, AttributeValue>): Record<string, unknown> {
  try {
    return unmarshall(attributes, { wrapNumbers: Number })
  } catch {
    return {}
  }
}

/** The tier or the route that an item of the policy set describes; neither, and what is wrong with it, when it describes none. */
export function parsePolicyItem(
  item: Readonly<Record<string, unknown>>,
  issues: string[],
): { readonly tier?: Tier; readonly route?: Route } {
  const { pk: _, sk, ...fields } = item
  const place: Place = [`item ${printed(sk)}`]
  const [kind, ...rest] = typeof sk === 'string' ? sk.split('#') : []
  if (kind === 'tier') return { tier: parseTier(rest.join('#'), fields, place, issues) }
  if (kind === 'route') return { route: parseRoute(rest.join('#'), fields, place, issues) }
  issues.push(`sk must begin with "tier#" or "route#", got ${printed(sk)}`)
  return {}
}

/** The client that an item describes. */
export function parseClientItem(item: Readonly<Record<string, unknown>>, issues: string[]): Client | undefined {
  const before = issues.length
  const { id, tier } = item
  if (typeof id !== 'string' || id === '' || id.length > 256)
    issues.push(`id must be a text of 1 to 256 characters, got ${printed(id)} (client)`)
  if (typeof tier !== 'string' || tier === '') issues.push(`tier must be the name of a tier, got ${printed(tier)} (client)`)
  return issues.length === before ? { id: id as string, tier: tier as string } : undefined
}
