import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Mistake } from '../../limiter/errors'
import { type ConfigItem, fromAttributes, parsePolicyItem, toPlaceholder } from './items/config-items'

/** What was last read of one item. */
export interface KnownItem {
  /** As it was stored. */
  readonly text: string
  readonly issues: readonly Mistake[]
  /** The last valid version. */
  readonly good: ConfigItem | undefined
  /** Whether its copy was looked for, where there is no valid version. */
  readonly searched?: boolean
}

/** An item that has not changed stays the same object, so that nothing is checked or computed again. */
export function toKnownItem(
  sk: string,
  attributes: Record<string, AttributeValue>,
  before: KnownItem | undefined,
): KnownItem {
  const text = JSON.stringify(attributes)
  if (before?.text === text) return before
  const issues: Mistake[] = []
  const item = parsePolicyItem({ ...fromAttributes(attributes), sk }, issues)
  return { text, issues, good: issues.length === 0 ? item : before?.good }
}

/** What is known of all items, by sort key. */
type KnownItems = ReadonlyMap<string, KnownItem>

/**
 * The last valid version of each item. An API whose item is invalid loses its label if another API has that label now.
 */
export function inForce(known: KnownItems): Map<string, ConfigItem> {
  const given = new Set(
    [...known.values()].map(({ issues, good }) => (issues.length === 0 ? good?.api?.label : undefined)),
  )
  return new Map(
    [...known].flatMap(([sk, { issues, good }]) => {
      const isTaken = issues.length > 0 && good?.api?.label !== undefined && given.has(good.api.label)
      return good ? [[sk, isTaken ? { api: { ...good.api!, label: undefined } } : good] as const] : []
    }),
  )
}

/**
 * Stand-ins for invalid items that were never valid: whether they require credentials is unknown, and whom they block
 * stays blocked.
 */
export const placeholders = (known: KnownItems): ConfigItem[] =>
  [...known]
    .filter(([, one]) => isUnknown(one))
    .map(([sk, { text }]) => toPlaceholder(sk, fromAttributes(JSON.parse(text))))

/** Invalid, and never seen valid. */
export const isUnknown = (one: KnownItem | undefined): boolean => one !== undefined && !one.good

/** Invalid, without a valid version, and its copy not yet looked for. */
export const isLost = ({ issues, good, searched }: KnownItem): boolean => issues.length > 0 && !good && !searched
