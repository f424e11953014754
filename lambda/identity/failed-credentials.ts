import { BoundedMap } from '../../limiter/bounded-map'
import type { Clock, EpochMs } from '../../limiter/clock'
import type { Provenance } from '../config-table/items/signing-keys'
import type { Directory, KnownClient } from './identify'

/** A directory that may remember earlier look-ups. */
export interface RememberingDirectory<Client extends KnownClient> extends Directory<Client> {
  /** Whether a credential needs no look-up, because its result is remembered. @default no result is */
  remembers?(credential: string): boolean
}

interface Failures {
  count: number
  /** When the minute began in which the failures are counted. */
  readonly since: EpochMs
  /** When a credential of this address was last looked up above the limit. */
  lookedUpAt: EpochMs
}

const MINUTE_MS = 60_000

/** Above the limit, one credential of an address is looked up in this time, in milliseconds. */
const PAUSE_MS = 1000

/** Addresses remembered; the one that failed first is forgotten first. */
const MAX_ADDRESSES = 10_000

/**
 * Limits the look-ups that an address can cause by unknown credentials: after so many failures in a minute, each
 * instance looks up one a second for it. Remembered credentials need no look-up and are not affected, so known clients
 * behind the same address pass.
 *
 * Credentials that were verified elsewhere, such as the user of a token, are always looked up. Otherwise a blocked or
 * disabled user could first send made-up keys, and then pass as a user of whom nothing is known.
 *
 * So are API keys that a signing key of the deployment has signed, whatever others send: they are as many as were ever
 * made, and those that are no client's any more are remembered as unknown. A forged one is unknown without a look-up.
 */
export class FailedCredentials<Client extends KnownClient> {
  private readonly byAddress = new BoundedMap<string, Failures>(MAX_ADDRESSES)

  constructor(
    private readonly directory: RememberingDirectory<Client>,
    private readonly clock: Clock,
  ) {}

  /**
   * The directory as it is limited for an address.
   *
   * @param limit failures in a minute.
   * @param provenanceOf tells who made an API key.
   */
  directoryFor(address: string, limit: number, provenanceOf: (apiKey: string) => Provenance): Directory<Client> {
    return {
      find: async (credential, apiKey) => {
        const isGuess = apiKey !== undefined && !this.directory.remembers?.(credential)
        const provenance = isGuess ? provenanceOf(apiKey) : 'signed'
        if (provenance === 'forged') return undefined
        if (provenance === 'signed') return this.directory.find(credential, apiKey)
        if (!this.mayLookUp(address, limit)) return 'limited'
        const found = await this.directory.find(credential, apiKey)
        if (found === undefined) this.noteFailure(address)
        return found
      },
    }
  }

  private mayLookUp(address: string, limit: number): boolean {
    const failures = this.failuresOf(address)
    if (!failures || failures.count < limit) return true
    const now = this.clock()
    if (Math.abs(now - failures.lookedUpAt) < PAUSE_MS) return false
    failures.lookedUpAt = now
    return true
  }

  private noteFailure(address: string): void {
    const now = this.clock()
    const failures = this.failuresOf(address)
    if (failures) failures.count++
    else this.byAddress.set(address, { count: 1, since: now, lookedUpAt: Number.NEGATIVE_INFINITY })
  }

  /** The failures of the present minute; a clock that was set back starts a new one. */
  private failuresOf(address: string): Failures | undefined {
    const failures = this.byAddress.get(address)
    const age = this.clock() - (failures?.since ?? 0)
    return failures && age >= 0 && age < MINUTE_MS ? failures : undefined
  }
}
