import { ipv6PrefixIn } from '../callers/address-names'
import { toHash } from '../callers/stored-hash'
import { readKnown } from '../callers/subjects'
import { findAllByHash, type Suspects } from '../callers/whois'
import { BoundedMap, type Clock, type EpochMs } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'

/** A client may be new: a hash that nobody is known by is looked for again when the tables were read that long ago. */
const STALE_MS = 60_000

/** More than can be shown at once. */
const MAX_TRIED = 100_000

/** Whose subjects are in no table; reading again does not help. */
const IN_NO_TABLE = /^(ip|preflight|header|claim|stage)[~#]/

/** Finds out whose hashes are in the log, as far as the config table says it. It is read when a hash is unknown. */
export class Names {
  private readonly known = new Map<string, string>()
  private readonly tried = new BoundedMap<string, EpochMs>(MAX_TRIED)
  private suspects: Suspects | undefined
  private readAt = -Infinity

  constructor(
    private readonly table: () => Promise<ConfigTable>,
    private readonly ipv6Prefix: number,
    private readonly clock: Clock,
    /** Gets why the table cannot be read, once. */
    private readonly failed: (error: unknown) => void,
  ) {}

  /** The names by hash. Hashes that nobody is known by are missing. */
  async of(texts: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const now = this.clock()
    const isOld = now - this.readAt > STALE_MS
    const hashes = [...new Set(texts)].flatMap((text) => {
      const last = this.tried.get(text)
      const isDue = last === undefined || (isOld && last <= this.readAt && !IN_NO_TABLE.test(text))
      return this.known.has(text) || !isDue ? [] : (toHash(text) ?? [])
    })
    if (hashes.length === 0) return this.known
    if (isOld && (!this.suspects || hashes.some(({ text }) => !IN_NO_TABLE.test(text)))) await this.readTable(now)
    if (this.suspects) for (const [hash, name] of findAllByHash(hashes, this.suspects)) this.known.set(hash, name)
    for (const { text } of hashes) this.tried.set(text, now)
    return this.known
  }

  /** Denials are shown whether callers can be named or not. */
  private async readTable(now: EpochMs): Promise<void> {
    try {
      this.suspects = await this.read()
    } catch (error) {
      if (this.readAt === -Infinity) this.failed(error)
    }
    this.readAt = now
  }

  private async read(): Promise<Suspects> {
    const table = await this.table()
    const { configuration, keys } = await readKnown(table)
    const { policies } = configuration
    const [items, clients] = [await table.policySet(), await table.clients()]
    const ipv6Prefix = ipv6PrefixIn(policies.settings, this.ipv6Prefix)
    return { items, clients, policies, keys, addresses: [], ipv6Prefix }
  }
}
