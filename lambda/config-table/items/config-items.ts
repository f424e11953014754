import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { Mistake, printed } from '../../../limiter/errors'
import type { Place } from '../../../limiter/policies/report'
import { type AccessEntry, parseAccess, strictBlock } from './access-list'
import type { PolicySetParts } from './policy-set'
import { type Api, parseApi } from './scopes'
import {
  type ModeSwitch,
  parseScopedSettings,
  parseSettings,
  parseSwitch,
  SCOPED_SETTINGS,
  type ScopedSettings,
  type Settings,
} from './settings'
import {
  parseGlobal,
  parseRoute,
  parseTier,
  type Route,
  type Tier,
  type TierPolicy,
  unknownRoute,
  unknownTier,
} from './tiers'

/** What an item of the policy set describes: one of these, or none where it is invalid. */
export interface ConfigItem {
  readonly tier?: Tier
  readonly route?: Route
  readonly global?: readonly TierPolicy[]
  readonly settings?: Settings
  readonly scopedSettings?: ScopedSettings
  readonly modeSwitch?: ModeSwitch
  readonly api?: Api
  readonly access?: AccessEntry
}

/**
 * An item as an object, empty when it cannot be converted. Numbers too large to be exact are rounded; checks refuse
 * them.
 */
export function fromAttributes(attributes: Record<string, AttributeValue>): Record<string, unknown> {
  try {
    return unmarshall(attributes, { wrapNumbers: Number })
  } catch {
    return {}
  }
}

/** What an item of the policy set describes, and every mistake in it. */
export function parsePolicyItem(item: Readonly<Record<string, unknown>>, issues: Mistake[]): ConfigItem {
  const { pk: _, sk, ...fields } = item
  const place: Place = [`item ${printed(sk)}`]
  const [kind, ...rest] = typeof sk === 'string' ? sk.split('#') : []
  const name = rest.join('#')
  if (typeof sk === 'string' && sk.startsWith(SCOPED_SETTINGS))
    return { scopedSettings: parseScopedSettings(sk, fields, place, issues) }
  switch (rest.length === 0 ? kind : `${kind}#`) {
    case 'tier#':
      return { tier: parseTier(name, fields, place, issues) }
    case 'route#':
      return { route: parseRoute(name, fields, place, issues) }
    case 'global':
      return { global: parseGlobal(fields, place, issues) }
    case 'settings':
      return { settings: parseSettings(fields, place, issues) }
    case 'switch':
      return { modeSwitch: parseSwitch(fields, place, issues) }
    case 'api#':
      return { api: parseApi(name, fields, place, issues) }
    case 'block#':
    case 'allow#':
      return { access: parseAccess(kind as 'block' | 'allow', name, fields, place, issues) }
    default:
      issues.push(
        new Mistake(
          'invalid_item_key',
          `sk must be "global", "settings" or "switch", or begin with "tier#", "route#", "settings @", "api#", "block#" or "allow#", got ${printed(sk)}`,
        ),
      )
      return {}
  }
}

/** The parts of a policy set, from valid items. */
export function partsOf(items: readonly ConfigItem[]): PolicySetParts {
  return {
    settings: items.find((item) => item.settings)?.settings,
    scopedSettings: items.flatMap(({ scopedSettings }) => scopedSettings ?? []),
    modeSwitch: items.find((item) => item.modeSwitch)?.modeSwitch,
    tiers: items.flatMap(({ tier }) => tier ?? []),
    routes: items.flatMap(({ route }) => route ?? []),
    global: items.find((item) => item.global)?.global,
    apis: items.flatMap(({ api }) => api ?? []),
  }
}

/**
 * The stand-in for an invalid item of which only the sort key can be relied on, and for which APIs it holds where its
 * `apis` are valid.
 */
export function toPlaceholder(sk: string, { apis }: Readonly<Record<string, unknown>> = {}): ConfigItem {
  const [kind, ...rest] = sk.split('#')
  const name = rest.join('#')
  if (kind === 'tier') return { tier: unknownTier(name, apis) }
  if (kind === 'route') return { route: unknownRoute(name, apis) }
  return kind === 'block' ? { access: strictBlock(name) } : {}
}
