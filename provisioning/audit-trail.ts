import { createHash, randomBytes } from 'node:crypto'
import { CLIENT_FIELDS } from '../lambda/config-table/items/client-item'
import { CONFIG_TABLE } from '../lambda/config-table/items/config-keys'
import { SIGNING_RING } from '../lambda/config-table/items/signing-keys'
import { HMAC_RING } from '../lambda/config-table/subject-keys'
import type { Clock, EpochMs } from '../limiter/clock'
import { AUDIT_PARTITION, AUDIT_TIME_TO_LIVE } from './audit-partition'
import { type ExactItem, isMap, withNumbers, withoutItemKey } from './documents'
import type { GuardedWrite } from './guarded-writes'
import { contentHash } from './tiers-file'

/** How long a record is kept, in days. */
const AUDIT_DAYS = 400

/** The size of a record's changes, in bytes: an item is at most 400 KB. */
const MAX_BYTES = 300_000

/** DynamoDB allows 32 levels of nesting, and a record has some of its own. */
const MAX_LEVELS = 24

type Fields = Readonly<Record<string, unknown>>

/** One item, before and after a change. */
export interface AuditEntry {
  /** `tier#free`, `client#acme` by the client's id, `hmac-key`, `signing-key`; absent once a person was forgotten. */
  readonly item?: string
  /** Which of a client's records: a hash of its partition key, since that may hold the hash of an API key. */
  readonly ref?: string
  /** `contentHash` of the item before; absent if there was none. */
  readonly was?: string
  /** `contentHash` of the item after; absent if it was deleted. */
  readonly is?: string
  /** Its fields before, without secrets. */
  readonly before?: Fields
  readonly after?: Fields
  /** Changed fields that are secret, and so not shown. */
  readonly hidden?: readonly string[]
  /** Whether `before` and `after` are left out, because they were too large. */
  readonly cut?: true
  /** Whether it was about an erased person. */
  readonly forgotten?: true
}

/** What all records of one run of a command, or of one deployment, have in common. */
export interface AuditedChange {
  /** By which `sluice history` and `sluice tiers rollback` name it. */
  readonly change: string
  /** An ARN, or the system's user; of a deployment its stack. */
  readonly by: string
  /** `sluice tiers apply`, `deployment`. */
  readonly how: string
}

/** A record of the audit trail, as it is stored. */
export interface AuditRecord extends AuditedChange {
  readonly pk: typeof AUDIT_PARTITION
  /** Begins with `at`, so that records are in the order in which they were written, by the writers' clocks. */
  readonly sk: string
  /** ISO 8601, with milliseconds. */
  readonly at: string
  readonly entries: readonly AuditEntry[]
  /** Epoch seconds. */
  readonly [AUDIT_TIME_TO_LIVE]: number
}

/** Ten hexadecimal digits. */
export const newChangeId = (): string => randomBytes(5).toString('hex')

/** The records of one run of a command. */
export class AuditTrail {
  private count = 0

  constructor(
    private readonly about: () => Promise<AuditedChange>,
    private readonly clock: Clock,
    private readonly isForgetting = false,
  ) {}

  /** Records that something was erased, but not what. */
  forgetting(): AuditTrail {
    return new AuditTrail(this.about, this.clock, true)
  }

  /** The writes that record some writes, for the same transaction; empty if none of them is recorded. */
  async recordsOf(writes: readonly GuardedWrite[]): Promise<GuardedWrite[]> {
    const entries = entriesOf(writes)
    if (entries.length === 0) return []
    const recorded = this.isForgetting ? entries.map((): AuditEntry => ({ forgotten: true })) : entries
    return recordWrites(recorded, await this.about(), this.clock(), () => this.count++)
  }
}

/** The largest author of a change, in bytes, for callers that need the size before it is known. */
const SOMEBODY: AuditedChange = { change: 'x'.repeat(64), by: 'x'.repeat(2048), how: 'x'.repeat(64) }

/** Writes and their records, at their largest. */
export const withRecords = (writes: readonly GuardedWrite[]): GuardedWrite[] => [
  ...writes,
  ...recordWrites(entriesOf(writes), SOMEBODY, 0, () => 0),
]

function recordWrites(
  all: readonly AuditEntry[],
  about: AuditedChange,
  now: EpochMs,
  next: () => number,
): GuardedWrite[] {
  const at = new Date(now).toISOString()
  return parcelled(all).map((entries) => {
    const sk = `${at}#${String(next()).padStart(6, '0')}#${randomBytes(4).toString('hex')}`
    const exp = Math.floor(now / 1000) + AUDIT_DAYS * 86_400
    return { key: { pk: AUDIT_PARTITION, sk }, after: { pk: AUDIT_PARTITION, sk, at, ...about, entries, exp } }
  })
}

/**
 * A record without what it says about a person; the same record if it says nothing.
 *
 * @param isTheirs whether an entry is about the person.
 */
export function withoutPerson(record: ExactItem, isTheirs: (entry: AuditEntry) => boolean): ExactItem {
  const entries: readonly AuditEntry[] = Array.isArray(record.entries) ? record.entries.filter(isMap) : []
  if (!entries.some(isTheirs)) return record
  return { ...record, entries: entries.map((entry) => (isTheirs(entry) ? { forgotten: true } : entry)) }
}

/** The entries for some writes: configuration and clients are recorded, programs' own notes are not. */
function entriesOf(writes: readonly GuardedWrite[]): AuditEntry[] {
  return writes.flatMap(({ key, before, after }) => {
    const name = nameOf(key.pk, key.sk, after ?? before)
    if (!name) return []
    const [old, present] = [before && shown(key.pk, before), after && shown(key.pk, after)]
    const [was, is] = [old && hashOf(old), present && hashOf(present)]
    const hidden = hiddenFields(key.pk, before, after)
    if (was === is && hidden.length === 0) return []
    const entry: AuditEntry = {
      ...name,
      ...(was && { was }),
      ...(is && { is }),
      ...(hidden.length > 0 && { hidden }),
    }
    const full: AuditEntry = { ...entry, ...(old && { before: old }), ...(present && { after: present }) }
    const isTooLarge = sizeOf(full) > MAX_BYTES || levelsOf(old) > MAX_LEVELS || levelsOf(present) > MAX_LEVELS
    return [isTooLarge ? { ...entry, cut: true } : full]
  })
}

/** The name of an item in entries; `undefined` for items that are not recorded. */
export function nameOf(pk: string, sk: string, item?: ExactItem): Pick<AuditEntry, 'item' | 'ref'> | undefined {
  if (pk === CONFIG_TABLE.policySet) return { item: sk }
  if (isRing(pk)) return sk === pk ? { item: pk } : undefined
  return pk.startsWith('client#') ? { item: `client#${String(item?.id)}`, ref: refOf(pk) } : undefined
}

/** A client's record, without the hash of its key. */
export const refOf = (pk: string): string => createHash('sha256').update(`audit ${pk}`).digest('hex').slice(0, 16)

/** The hash by which an entry shows whether an item still is as it left it. */
export const auditHash = (pk: string, item: ExactItem): string => hashOf(shown(pk, item))

const hashOf = (fields: Fields): string => contentHash(withNumbers(fields) as Fields)

/** The fields of an item that a record may have: of a client, those that are known and not secret. */
function shown(pk: string, item: ExactItem): Fields {
  const fields = withoutItemKey(item)
  if (isRing(pk)) return { keys: Array.isArray(fields.keys) ? fields.keys.map(timesOf) : [] }
  if (!pk.startsWith('client#')) return fields
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !isHidden(field)))
}

/** Whether items of a partition are about the deployment's secrets. */
const isRing = (pk: string): boolean => pk === HMAC_RING.name || pk === SIGNING_RING.name

const timesOf = (key: unknown): Fields =>
  isMap(key)
    ? { activeFrom: key.activeFrom, ...(key.carriedFrom !== undefined && { carriedFrom: key.carriedFrom }) }
    : {}

const isHidden = (field: string): boolean =>
  !Object.hasOwn(CLIENT_FIELDS, field) || 'isSecret' in CLIENT_FIELDS[field as keyof typeof CLIENT_FIELDS]

function hiddenFields(pk: string, before: ExactItem = {}, after: ExactItem = {}): string[] {
  if (isRing(pk)) return textOf(before.keys) === textOf(after.keys) ? [] : ['key']
  if (!pk.startsWith('client#')) return []
  const names = Object.keys({ ...withoutItemKey(before), ...withoutItemKey(after) }).filter(isHidden)
  return names.filter((name) => textOf(before[name]) !== textOf(after[name])).sort()
}

/** Entries in as few records as possible, in order. */
function parcelled(entries: readonly AuditEntry[]): AuditEntry[][] {
  const parcels: AuditEntry[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const entry of entries) {
    const bytes = sizeOf(entry)
    if (size + bytes > MAX_BYTES) {
      parcels.push([])
      size = 0
    }
    parcels.at(-1)!.push(entry)
    size += bytes
  }
  return parcels
}

const textOf = (value: unknown): string =>
  JSON.stringify(withNumbers(value), (_, one) => (one instanceof Set ? [...one] : one)) ?? ''

const sizeOf = (value: unknown): number => Buffer.byteLength(textOf(value))

const levelsOf = (value: unknown): number => {
  if (Array.isArray(value)) return 1 + Math.max(0, ...value.map(levelsOf))
  return isMap(value) ? 1 + Math.max(0, ...Object.values(value).map(levelsOf)) : 0
}
