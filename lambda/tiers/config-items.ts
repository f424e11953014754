import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { printed } from '../errors'
import type { Place } from '../policies/report'
import { parseSettings, type Settings } from '../policies/settings'
import { parseGlobal, parseRoute, parseTier, type Route, type Tier, type TierPolicy, unknownRoute, unknownTier } from '../policies/tiers'
import { type AccessEntry, parseAccess, strictBlock } from './access-list'

/** Keys of the config table; one `Query` on the partition `policy-set` finds all of it but the clients. */
export const CONFIG_TABLE = { partitionKey: 'pk', sortKey: 'sk', policySet: 'policy-set' } as const

/** The partition that only the authorizer writes. */
export const LAST_VALID_PARTITION = 'last-valid'

export const tierKey = (name: string) => ({ pk: CONFIG_TABLE.policySet, sk: `tier#${name}` })
export const routeKey = (pattern: string) => ({ pk: CONFIG_TABLE.policySet, sk: `route#${pattern}` })
export const globalKey = () => ({ pk: CONFIG_TABLE.policySet, sk: 'global' })
export const settingsKey = () => ({ pk: CONFIG_TABLE.policySet, sk: 'settings' })

/** A copy of an item of the policy set as it was when it last had no mistake; see last-valid.ts. */
export const lastValidKey = (sk: string) => ({ pk: LAST_VALID_PARTITION, sk })

/** @param credential the hash of an API key, or `<source>:<value>` for a credential that is no secret. */
export const clientKey = (credential: string) => ({ pk: `client#${credential}`, sk: 'client' })

/** What an item of the policy set describes: one of these, or none where it is wrong. */
export interface ConfigItem {
  readonly tier?: Tier
  readonly route?: Route
  readonly global?: readonly TierPolicy[]
  readonly settings?: Settings
  readonly access?: AccessEntry
}

/** An item as an object, without fields when it cannot be one. Numbers too large to be exact are as near as they get; checks turn them down. */
export function fromAttributes(attributes: Record<string, AttributeValue>): Record<string, unknown> {
  try {
    return unmarshall(attributes, { wrapNumbers: Number })
  } catch {
    return {}
  }
}

/** What an item of the policy set describes, and every mistake in it. */
export function parsePolicyItem(item: Readonly<Record<string, unknown>>, issues: string[]): ConfigItem {
  const { pk: _, sk, ...fields } = item
  const place: Place = [`item ${printed(sk)}`]
  const [kind, ...rest] = typeof sk === 'string' ? sk.split('#') : []
  const name = rest.join('#')
  switch (rest.length === 0 ? kind : `${kind}#`) {
    case 'tier#':
      return { tier: parseTier(name, fields, place, issues) }
    case 'route#':
      return { route: parseRoute(name, fields, place, issues) }
    case 'global':
      return { global: parseGlobal(fields, place, issues) }
    case 'settings':
      return { settings: parseSettings(fields, place, issues) }
    case 'block#':
    case 'allow#':
      return { access: parseAccess(kind as 'block' | 'allow', name, fields, place, issues) }
    default:
      issues.push(`sk must be "global" or "settings", or begin with "tier#", "route#", "block#" or "allow#", got ${printed(sk)}`)
      return {}
  }
}

/** What an item stands for of which nothing but its sort key can be relied on. */
export function toPlaceholder(sk: string): ConfigItem {
  const [kind, ...rest] = sk.split('#')
  const name = rest.join('#')
  if (kind === 'tier') return { tier: unknownTier(name) }
  if (kind === 'route') return { route: unknownRoute(name) }
  return kind === 'block' ? { access: strictBlock(name) } : {}
}
