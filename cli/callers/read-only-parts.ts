import {
  type AuthorizerParts,
  Clients,
  EVENTS,
  type ItemCalls,
  KeyRings,
  LastValid,
  type Log,
  lazyVerifiers,
  Plans,
  Sources,
} from '../facade/decisions'
import type { RateLimiter } from '../facade/limiter'
import { PolicySets } from '../facade/policies'
import type { Clock } from '../facade/values'

/** What the authorizer works on, and how it is asked. */
export interface Deciding {
  readonly calls: ItemCalls
  readonly configTable: string
  readonly limiter: Pick<RateLimiter, 'peek'>
  readonly clock: Clock
  readonly ipv6Prefix: number
}

/** The parts of an authorizer, and what it logs. */
export interface ReadOnlyParts extends AuthorizerParts {
  readonly logged: readonly string[]
}

const DEADLINE_MS = 10_000

/** The parts of a new instance of the authorizer that charges and writes nothing. */
export function readOnlyParts({ calls, configTable, limiter, clock, ipv6Prefix }: Deciding): ReadOnlyParts {
  const logged: string[] = []
  const log: Log = (_level, event, details = {}) =>
    void logged.push(`${event}: ${EVENTS[event]} ${JSON.stringify(details)}`)
  const reading = {
    calls,
    tableName: configTable,
    clock,
    log,
    ttlMs: 60_000,
    negativeTtlMs: 60_000,
    deadlineMs: DEADLINE_MS,
  }
  const lastValid = new LastValid(reading)
  return {
    limiter: { decide: (charges) => limiter.peek(charges) },
    configuration: new PolicySets({ ...reading, lastValid: { read: () => lastValid.read(), keep: async () => {} } }),
    subjectKeys: new KeyRings(reading).subjectKeys,
    plans: new Plans(log),
    clients: new Clients(reading),
    sources: new Sources(lazyVerifiers(clock), DEADLINE_MS),
    clock,
    wait: async () => {}, // a request is explained, not delayed
    log,
    logged,
    ipv6Prefix,
    failOpen: false,
  }
}
