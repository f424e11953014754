import type { Decision, Standing } from '../../limiter/decision'
import type { RateLimiter, RateLimiterOptions, RefundOptions } from '../../limiter/rate-limiter'
import type { PolicyWrite, StateStore } from '../../limiter/stores/store'
import type { Library } from '../model/simulation'

/**
 * The limiter of commit 524c9d4, the last one before what a write carries was changed: `limiter-524c9d4.js`, made in a
 * checkout of that commit by
 *
 *     esbuild entry.ts --bundle --platform=node --format=cjs --target=node20 --minify-whitespace --minify-syntax '--external:@aws-sdk/*'
 *
 * of an `entry.ts` that exports `StoreUnavailableError`, `compile`, `distinct`, `createLimiter`, `RateLimiter`,
 * `parsePolicies`, `DynamoDbStore` and `MemoryStore`. It is never made again: it is what runs beside every later
 * release while that is deployed.
 */
const old = require('./limiter-524c9d4.js')

type Limiter = Pick<RateLimiter, 'decide' | 'peek' | 'refund' | 'reset' | 'close'>

export const OLD: Library = {
  makeLimiter(options: RateLimiterOptions): Limiter {
    const limiter = new old.RateLimiter({ ...options, store: storeForOld(options.store) })
    return {
      decide: async (charges, withoutStore) => renamed(await limiter.decide(charges, withoutStore)),
      peek: async (charges) => renamed(await limiter.peek(charges)),
      refund: (charge, { chargedAt }: RefundOptions = {}) => limiter.refund(charge, chargedAt),
      reset: (key) => limiter.reset(key),
      close: () => limiter.close(),
    }
  },
  compileAll(policies) {
    const issues: string[] = []
    const parsed = old.parsePolicies(policies, [], issues)
    if (issues.length > 0) throw new Error(issues.join('\n'))
    return old.distinct(parsed.map((policy: unknown) => old.compile(policy)))
  },
  unavailable: (reason, message) => new old.StoreUnavailableError(reason, message),
}

interface OldDecision extends Omit<Decision, 'overrun' | 'exceeded' | 'policies'> {
  readonly relaxed: boolean
  readonly policies: Readonly<Record<string, OldStanding>>
}

interface OldStanding extends Omit<Standing, 'overage' | 'exceeded'> {
  readonly over?: number
  readonly exceeded?: string
}

/** An old decision in today's words: what is past a quota was `over`, and what an overrun allowed was `relaxed`. */
function renamed({ relaxed, policies, ...decision }: OldDecision): Decision {
  const standings = Object.entries(policies).map(([name, standing]) => [name, standingOf(standing)])
  return { ...standingOf(decision), overrun: relaxed, policies: Object.fromEntries(standings) } as Decision
}

const standingOf = ({ over, exceeded, ...standing }: OldStanding) => ({
  ...standing,
  ...(over !== undefined && { overage: over }),
  ...(exceeded !== undefined && { exceeded: exceeded === 'relaxed' ? 'overrun' : exceeded }),
})

/** A part of a write as the old limiter hands it to its store. */
interface OldPart {
  readonly code: string
  readonly write: PolicyWrite['write']
}

/** Today's store for an old limiter, which called a policy's prefix its code, and a write that had been applied repeated. */
const storeForOld = (store: StateStore): StateStore => ({
  read: (key, options) => store.read(key, options),
  delete: (key, marks, options) => store.delete(key, marks, options),
  async write(key, { parts, ...write }, options) {
    const today = (parts as unknown as readonly OldPart[]).map(({ code, write: part }) => ({
      prefix: code,
      write: part,
    }))
    const { kind, ...outcome } = await store.write(key, { ...write, parts: today }, options)
    return { ...outcome, kind: kind === 'already-applied' ? ('repeated' as never) : kind }
  },
})

/** A table as old instances read and write it. */
export function oldStoreOn(client: unknown, tableName: string): StateStore {
  const store: StateStore = new old.DynamoDbStore({ client, tableName })
  return {
    read: (key, options) => store.read(key, options),
    delete: (key, marks, options) => store.delete(key, marks, options),
    async write(key, { parts, ...write }, options) {
      const then: OldPart[] = parts.map(({ prefix, write: part }) => ({ code: prefix, write: part }))
      const { kind, ...outcome } = await store.write(key, { ...write, parts: then as never }, options)
      return { ...outcome, kind: (kind as string) === 'repeated' ? 'already-applied' : kind }
    },
  }
}
