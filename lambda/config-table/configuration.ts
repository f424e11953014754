import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Clock } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { errorDetails, type Log } from '../telemetry/log'
import type { BegunReading } from './first-readings'
import { AccessList } from './items/access-list'
import { type ConfigItem, fromAttributes, parsePolicyItem, partsOf } from './items/config-items'
import { CONFIG_TABLE, settingsKey, tierKey } from './items/config-keys'
import { type PolicySet, toPolicySet } from './items/policy-set'
import { checkAnonymous, checkDefaultTier, checkNoneRequired } from './items/policy-set-checks'
import { splitVariant } from './items/scopes'
import { checkAttributePrefixes } from './items/storage'
import { ANONYMOUS, type Tier } from './items/tiers'
import { inForce, isLost, isUnknown, type KnownItem, placeholders, toKnownItem } from './known-items'
import type { LastValid } from './last-valid'
import { type Items, readPolicySetItems, TooManyItems } from './policy-set-items'
import { REFRESH_SHARE, Refresher, SECOND_READING_AFTER_MS } from './refresher'
import { TiersAsNeeded } from './tiers-as-needed'

export interface PolicySetsOptions {
  readonly calls: ItemCalls
  readonly tableName: string
  readonly clock: Clock
  /** How old a set may get before it is read again, in milliseconds. */
  readonly ttlMs: number
  /** Time for one reading, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
  /** `none`: no caller has to show credentials, and an item that requires them is a mistake. @default 'config' */
  readonly authentication?: 'config' | 'none'
  /**
   * Copies of the last valid version of each item, for an instance that starts while an item is invalid. @default none
   */
  readonly lastValid?: Pick<LastValid, 'read' | 'keep'>
  /** Which began before any request. @default none */
  readonly first?: BegunReading<Items>
}

/** Everything in the config table except clients. */
export interface Configuration {
  readonly policies: PolicySet
  readonly access: AccessList
  /** Whether the settings are invalid and were never seen valid: who must show credentials, and which, is not known. */
  readonly identityUnknown?: boolean
}

/**
 * Tiers that are parsed before the first answer, and again with each later request. A set of hundreds would delay the
 * first request by tiers that its caller is not in; so the others are parsed later, or as soon as a caller in one of
 * them comes.
 */
const TIERS_AT_ONCE = 10

/** Attribute prefixes that are compared when a set is read; the command line compares all when it writes a set. */
const MAX_PREFIXES = 1000

const ANONYMOUS_ITEM = tierKey(ANONYMOUS).sk

/**
 * The configuration in the config table, never a part of it. It is read at the start, and again in the background
 * shortly before its time to live ends; a request that comes after that waits for the reading. An invalid item keeps
 * its last valid version, and so does the anonymous tier when it is deleted. Mistakes are logged when they are read.
 * Those of a large set at the start are logged within the first requests, each of which parses some more tiers.
 */
export class PolicySets {
  private configuration: Configuration | undefined
  private readonly refresher: Refresher<Items>
  /** By sort key. */
  private known = new Map<string, KnownItem>()
  /** Tiers of the first reading that are not parsed yet, by sort key. */
  private readonly unread = new Map<string, Record<string, AttributeValue>>()
  /** All items as they were read last, until their copies are up to date. */
  private toKeep: ReadonlyMap<string, Record<string, AttributeValue>> | undefined

  constructor(private readonly options: PolicySetsOptions) {
    const { clock, ttlMs, deadlineMs, log, tableName } = options
    this.refresher = new Refresher({
      clock,
      refreshMs: ttlMs * REFRESH_SHARE,
      maxAgeMs: ttlMs,
      deadlineMs: 2 * deadlineMs, // the set, and then its copies
      first: options.first,
      read: (awaited, begun) => {
        const secondAfterMs = this.configuration && SECOND_READING_AFTER_MS
        const reading = { tableName, deadlineMs, awaited, secondAfterMs }
        return this.orCopies(begun ?? readPolicySetItems(options.calls, reading))
      },
      apply: (items, isSuperseded) => this.take(items, isSuperseded),
      onError: (error) => log('error', 'config_table_unreadable', { table: tableName, ...errorDetails(error) }),
    })
  }

  /** What is in force, the same object while nothing changes; `undefined` only while nothing could ever be read. */
  async current(): Promise<Configuration | undefined> {
    const isFirst = this.configuration === undefined
    await this.refresher.refresh()
    if (!isFirst) this.goOn()
    return this.configuration
  }

  /** Starts background work that the request does not wait for. */
  private goOn(): void {
    this.parseDeferred(TIERS_AT_ONCE)
    this.keep()
  }

  /**
   * The items of the table. Where the table has too many, an instance that has no configuration yet gets the copies of
   * the last valid items.
   */
  private async orCopies(items: Promise<Items>): Promise<Items> {
    try {
      return await items
    } catch (error) {
      const { lastValid, log, tableName } = this.options
      if (!(error instanceof TooManyItems) || this.configuration || !lastValid) throw error
      log('error', 'last_valid_used', { table: tableName, ...errorDetails(error) }, 'ConfigErrors')
      const copies = [...(await lastValid.read()).values()]
      if (copies.length === 0) throw error
      return copies
    }
  }

  private async take(items: Items, isSuperseded: () => boolean): Promise<boolean> {
    const seen = new Map(items.map((attributes) => [attributes[CONFIG_TABLE.sortKey]?.S ?? '', attributes]))
    const present = new Map(seen)
    if (this.configuration === undefined) this.deferTiers(seen)
    else this.parseDeferred(Infinity)
    const before = this.known
    const known = new Map([...seen].map(([sk, attributes]) => [sk, this.parsed(sk, attributes, before.get(sk))]))
    await this.restore(known)
    if (isSuperseded()) return true
    this.known = known
    this.toKeep = present
    const gone = [...before.keys()].some((sk) => !this.known.has(sk))
    const changed = [...this.known].some(([sk, one]) => one !== before.get(sk))
    if (this.configuration === undefined || gone || changed) this.configuration = this.combined(before)
    return true
  }

  /** Replaces items that were invalid ever since this instance started by their copies. */
  private async restore(known: Map<string, KnownItem>): Promise<void> {
    const { lastValid, log, tableName } = this.options
    const lost = [...known].filter(([, one]) => isLost(one))
    if (!lastValid || lost.length === 0) return
    try {
      const copies = await lastValid.read()
      for (const [sk, one] of lost) {
        const copy = copies.get(sk)
        const issues: Mistake[] = []
        const good = copy && parsePolicyItem({ ...fromAttributes(copy), sk }, issues)
        known.set(sk, { ...one, searched: true, ...(issues.length === 0 && { good }) })
      }
    } catch (error) {
      log('error', 'last_valid_unreadable', { table: tableName, ...errorDetails(error) })
    }
  }

  /** Brings the copies up to date in the background. */
  private keep(): void {
    const present = this.toKeep
    if (!present || this.unread.size > 0) return
    this.toKeep = undefined
    const valid = [...present].filter(([sk]) => this.known.get(sk)?.issues.length === 0)
    void this.options.lastValid?.keep(new Map(valid), new Set(present.keys()))
  }

  /** Takes tiers beyond those of the start out of `seen`, to be parsed later. */
  private deferTiers(seen: Map<string, Record<string, AttributeValue>>): void {
    this.unread.clear() // of a reading that was dropped
    const tiers = [...seen].filter(([sk]) => sk.startsWith(tierKey('').sk) && sk !== ANONYMOUS_ITEM)
    for (const [sk, attributes] of tiers.slice(TIERS_AT_ONCE)) {
      if (attributes.apis || splitVariant(sk)[1] !== undefined) continue // whether it is there depends on the request
      seen.delete(sk)
      this.unread.set(sk, attributes)
    }
  }

  /** Parses up to `most` of the deferred tiers. Contradictions between items are logged after the last one. */
  private parseDeferred(most: number): void {
    if (this.unread.size === 0) return
    for (const sk of [...this.unread.keys()].slice(0, most)) this.readTier(sk)
    // to look for their copies
    if ([...this.known.values()].some(isLost) && this.options.lastValid) this.refresher.readSoon()
    if (this.unread.size > 0) return
    const whole = this.combined(this.known)
    if (whole.policies.displaced?.size) this.configuration = whole
  }

  private readTier(sk: string): Tier | undefined {
    const attributes = this.unread.get(sk)
    if (!attributes) return undefined
    this.unread.delete(sk) // first of all, so that it is never more than one request that stumbles over it
    const known = this.parsed(sk, attributes, undefined)
    this.known.set(sk, known)
    const tier = known.good?.tier
    if (tier) (this.configuration!.policies.tiers as Map<string, Tier>).set(tier.name, tier)
    return tier
  }

  private parsed(sk: string, attributes: Record<string, AttributeValue>, before: KnownItem | undefined): KnownItem {
    const known = toKnownItem(sk, attributes, before)
    const { issues } = known
    if (issues.length > 0) this.options.log('error', 'config_item_invalid', { item: sk, issues }, 'ConfigErrors')
    return known
  }

  /** Merges the valid versions. The anonymous tier stays in force even when it is deleted. */
  private combined(before: ReadonlyMap<string, KnownItem>): Configuration {
    const good = inForce(this.known)
    const issues: Mistake[] = []
    checkAnonymous(namesOf(good, ANONYMOUS_ITEM), [], issues)
    const anonymous = before.get(ANONYMOUS_ITEM)
    if (anonymous?.good && !good.has(ANONYMOUS_ITEM)) {
      good.set(ANONYMOUS_ITEM, anonymous.good)
      this.known.set(ANONYMOUS_ITEM, { ...anonymous, text: '' })
    }
    const all = [...good.values(), ...placeholders(this.known)]
    const parts = partsOf(all)
    const { settings, tiers } = parts
    if (settings) checkDefaultTier(settings, namesOf(good), [], issues)
    const merged = toPolicySet(parts, [], issues)
    const shared = { tiers, routes: merged.routes, global: merged.global, defaultTier: settings?.defaultTier }
    const displaced = this.unread.size === 0 ? checkAttributePrefixes(shared, [], issues, MAX_PREFIXES) : undefined
    const policies = { ...merged, displaced }
    const access = new AccessList(all.flatMap(({ access }) => access ?? []))
    if (this.options.authentication === 'none') checkNoneRequired(policies, [], issues)
    const identityUnknown = isUnknown(this.known.get(settingsKey().sk))
    if (this.unread.size > 0) {
      const asNeeded = new TiersAsNeeded(policies.tiers, (name) => this.readTier(tierKey(name).sk))
      return { policies: { ...policies, tiers: asNeeded }, access, identityUnknown }
    }
    if (issues.length > 0) {
      this.options.log('error', 'config_items_conflict', { table: this.options.tableName, issues }, 'ConfigErrors')
    }
    return { policies, access, identityUnknown }
  }
}

/** @param only the key of the one that is asked for. @default all */
const namesOf = (good: ReadonlyMap<string, ConfigItem>, only?: string): string[] =>
  [...good].flatMap(([sk, { tier }]) => (tier && sk === (only ?? sk) ? tier.name : []))
