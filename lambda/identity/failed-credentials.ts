import { BoundedMap } from '../../limiter/bounded-map'
import type { Clock, EpochMs } from '../../limiter/clock'
import type { Directory, KnownClient } from './identify'

/** A directory that may remember who has been looked up. */
export interface RememberingDirectory<Client extends KnownClient> extends Directory<Client> {
  /** Whether a credential can be told without a look-up. @default none can */
  remembers?(credential: string): boolean
}

interface Failures {
  count: number
  /** When the minute began in which they are counted. */
  readonly since: EpochMs
  /** When this address was last let look up a credential past the limit. */
  lookedUpAt: EpochMs
}

const MINUTE_MS = 60_000

/** Past the limit, an address has one credential looked up in this time, in milliseconds. */
const PAUSE_MS = 1000

/** Addresses remembered, the one that failed first out first. */
const MOST_ADDRESSES = 10_000

/**
 * Keeps an address that shows one unknown credential after the other from looking all of them up: past so many failures
 * a minute it has one look-up a second, in each instance. Credentials that are remembered are told all the same, so
 * clients behind the same address pass.
 *
 * Those that somebody has checked, such as the user of a token, are always looked up. Else a user who is blocked or
 * disabled would make keys up first, and then pass as one of whom nothing is known.
 */
export class FailedCredentials<Client extends KnownClient> {
  private readonly byAddress = new BoundedMap<string, Failures>(MOST_ADDRESSES)

  constructor(
    private readonly directory: RememberingDirectory<Client>,
    private readonly clock: Clock,
  ) {}

  /**
   * The directory as an address may ask it.
   *
   * @param limit failures a minute.
   */
  directoryFor(address: string, limit: number): Directory<Client> {
    return {
      find: async (credential, isGuess) => {
        if (!isGuess || this.directory.remembers?.(credential)) return this.directory.find(credential, isGuess)
        if (!this.mayLookUp(address, limit)) return 'limited'
        const found = await this.directory.find(credential, isGuess)
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

  /** Those of the present minute; a clock that was set back begins a new one. */
  private failuresOf(address: string): Failures | undefined {
    const failures = this.byAddress.get(address)
    const age = this.clock() - (failures?.since ?? 0)
    return failures && age >= 0 && age < MINUTE_MS ? failures : undefined
  }
}
