import * as v from 'valibot'
import { type CompiledPolicy, compile, distinct, isFair, policiesByName } from './compiled-policy'
import { ConfigError, invalidValue, Mistake, type MistakeCode, printed } from './errors'
import { Lazy, lazyMeter } from './lazy'
import type { Limiter, LimiterOf, LimiterOptions, SubjectCharge } from './limiter'
import { FAILURE_MODES, type ReserveOptions, type TakeOptions } from './options'
import { checkFair, MAX_WEIGHT } from './policies/fair'
import { checkItemSize } from './policies/item-size'
import { CALLER_WAITS } from './policies/over-limit'
import { parsePolicies } from './policies/parse-policies'
import type { AnyPolicyInput } from './policies/policy'
import { checkFields, type FieldRules, suggestion } from './policies/report'
import type { PolicyMistakes } from './policies/written'
import { type Charge, checkCosts, costNames } from './request'
import { STORE } from './stores/store-option'
import { NAMESPACE, secretOf, subjectKey } from './subject-key'

const positiveMs = {
  schema: v.pipe(v.number(), v.minValue(1), v.maxValue(600_000)),
  wanted: 'milliseconds from 1 to 600000',
  optional: true,
} as const

const OPTIONS = {
  store: STORE,
  policies: { schema: v.unknown(), wanted: 'a list of policies' },
  clock: {
    schema: v.custom((clock) => typeof clock === 'function'),
    wanted: 'a function that returns epoch milliseconds',
    optional: true,
  },
  deadlineMs: positiveMs,
  firstDeadlineMs: positiveMs,
  denialTtlMs: {
    ...positiveMs,
    schema: v.pipe(v.number(), v.minValue(0), v.maxValue(600_000)),
    wanted: 'milliseconds from 0 to 600000',
  },
  maxSubjects: { schema: v.pipe(v.number(), v.integer(), v.minValue(1)), wanted: 'a positive integer', optional: true },
  localShare: {
    schema: v.pipe(v.number(), v.gtValue(0), v.maxValue(1)),
    wanted: 'a number above 0 and up to 1',
    optional: true,
  },
  autoLease: { schema: v.boolean(), wanted: 'true or false', optional: true },
  onEvent: {
    schema: v.custom((tell) => typeof tell === 'function'),
    wanted: 'a function that receives LimiterEvents',
    optional: true,
  },
  hmacKey: { schema: v.any(), wanted: 'a secret', optional: true }, // checked where no message can print it
  namespace: NAMESPACE,
  onStoreError: { schema: v.picklist(FAILURE_MODES), wanted: `one of ${FAILURE_MODES.join(', ')}`, optional: true },
} as const satisfies FieldRules

/**
 * Makes a limiter.
 *
 * @throws ConfigError with every mistake in the options and policies; never later, at a request.
 */
export function createLimiter<const Policies extends readonly AnyPolicyInput[]>(
  options: Omit<LimiterOptions, 'policies'> & { readonly policies: Policies & PolicyMistakes<Policies> },
): LimiterOf<Policies>
export function createLimiter(options: LimiterOptions): Limiter {
  const issues: Mistake[] = []
  const given = checkFields(options, OPTIONS, 'options', [], issues)
  const parsed =
    options?.policies === undefined ? [] : parsePolicies(options.policies, [], issues, {}, undefined, CALLER_WAITS)
  if (given && parsed.length === 0 && issues.length === 0)
    issues.push(new Mistake('missing_field', 'policies must have at least one policy, got none'))
  for (const policy of parsed) checkFair(policy, true, [`policy ${printed(policy.name)}`], issues)
  checkItemSize(parsed, [], issues)
  const secret = options?.hmacKey === undefined ? undefined : secretOf(options.hmacKey, issues)
  if (issues.length > 0) throw new ConfigError(issues)

  const keyOf = (subject: string) => subjectKey(subject, secret, options.namespace)
  const policies = distinct(parsed.map((policy) => compile(policy, '', options.autoLease)))
  const known = costNames(policies)
  const running = policies.find(({ counter }) => counter.isEndedByOthers)
  const fair = policies.find((policy) => policy.fair)
  const noCaller = () =>
    wrong('missing_field', `policy ${printed(fair!.name)} is fair: call takeAll with the caller of each request`)
  const refuse = (method: string) => {
    if (running && method !== 'acquire')
      throw wrong(
        'field_not_applicable',
        `${method} does not go with policy ${printed(running.name)}, which counts running requests: call acquire`,
      )
    if (fair && method !== 'takeAll') throw noCaller()
  }
  const callerOf = ({ caller, weight = 1 }: SubjectCharge, held: readonly CompiledPolicy[]) => {
    if (!isFair({ policies: held })) return undefined
    if (caller === undefined) throw noCaller()
    if (!Number.isInteger(weight) || weight < 1 || weight > MAX_WEIGHT)
      throw invalidValue(`weight must be an integer from 1 to ${MAX_WEIGHT}, got ${printed(weight)}`)
    return { key: keyOf(caller), weight }
  }
  const charge = (subject: string, { cost = 1, costs }: TakeOptions = {}): Charge => {
    if (costs !== undefined) checkCosts(costs, known)
    return { key: keyOf(subject), policies, cost, costs: costs && { ...costs } } // its caller may change it meanwhile
  }
  const some = policiesByName(policies)
  const limiter = new Lazy(async () => {
    const { loadForOutage, RateLimiter } = await import('./rate-limiter.ts')
    loadForOutage()
    return new RateLimiter(options)
  })
  limiter.preload()
  const waiting = new Lazy(async () => {
    const { WaitQueues } = await import('./waiting/wait-for.ts')
    return new WaitQueues(await limiter.get(), Math.max(1000, (options.denialTtlMs ?? 5000) + 1))
  })
  const reservations = new Lazy(async () => {
    const { LibraryReservations } = await import('./reservations/library-reservations.ts')
    return new LibraryReservations(await limiter.get(), policies)
  })
  const reserve = async (charges: readonly Charge[], given: ReserveOptions) =>
    (await reservations.get()).reserve(charges, given)

  return {
    countsRunning: running !== undefined,
    costNames: known,
    take: (subject, options) => {
      try {
        refuse('take')
        if (options !== undefined) checkNames(options, RESERVING, 'take')
        const charges = [charge(subject, options)]
        if (options?.reserve !== undefined) return reserve(charges, { ...options, reserve: options.reserve })
        const { loaded } = limiter // waits no more than the decision does
        return loaded ? Promise.resolve(loaded.decideAtOnce(charges)) : limiter.get().then((one) => one.decide(charges))
      } catch (error) {
        return Promise.reject(error)
      }
    },
    acquire: async (subject, options = {}) => {
      checkNames(options, RESERVING, 'acquire')
      if (!running)
        throw wrong('field_not_applicable', 'acquire needs a policy with algorithm "concurrency", got none: call take')
      refuse('acquire')
      const [charged, own] = [charge(subject, options), { ...options }]
      return (await reservations.get()).acquire(charged, own)
    },
    settle: async (reservation, used) => (await reservations.get()).settle(reservation, used),
    meter: (reservation, options) => lazyMeter(reservations.get().then((all) => all.meter(reservation, options))),
    takeAll: async (subjects, options = {}) => {
      refuse('takeAll')
      checkNames(options, RESERVING, 'takeAll')
      for (const one of subjects) checkNames(one, OF_SUBJECT, 'a subject of takeAll')
      const { cost, costs, reserve: duration } = options
      if (subjects.length === 0) throw wrong('missing_field', 'takeAll needs at least one subject, got none')
      const charges = subjects.map((one): Charge => {
        const held = one.policies ? some(one.policies) : policies
        return {
          ...charge(one.subject, { cost: one.cost ?? cost, costs: one.costs ?? costs }),
          policies: held,
          caller: callerOf(one, held),
        }
      })
      if (duration !== undefined) return reserve(charges, { ...options, reserve: duration })
      return (limiter.loaded ?? (await limiter.get())).decide(charges)
    },
    waitFor: async (subject, options = {}) => {
      refuse('waitFor')
      const own = asGiven(options)
      return (await waiting.get()).waitFor(own, () => charge(subject, own))
    },
    peek: async (subject, options = {}) => {
      checkNames(options, TAKING, 'peek')
      const charges = [charge(subject, options)]
      const { peekBefore } = await import('./rate-limiter.ts')
      return (await limiter.get()).peek(charges, peekBefore)
    },
    refund: async (subject, cost = 1, { costs, ...charged } = {}) => {
      const given = charge(subject, { cost, costs })
      await (await limiter.get()).refund(given, charged)
      waiting.loaded?.wake(given.key)
    },
    close: async () => {
      await waiting.loaded?.close()
      await (await limiter.get()).close()
    },
    reset: async (subject) => {
      const key = keyOf(subject)
      await (await limiter.get()).reset(key)
      waiting.loaded?.wake(key)
    },
  }
}

/** Options as they are now, whatever their caller changes later; what is none stays as it is, to be refused. */
function asGiven<Options extends TakeOptions>(options: Options): Options {
  if (typeof options !== 'object' || options === null) return options
  const { costs } = options
  const isRecord = typeof costs === 'object' && costs !== null && !Array.isArray(costs)
  return { ...options, ...(isRecord && { costs: { ...costs } }) }
}

const TAKING = ['cost', 'costs']
const RESERVING = [...TAKING, 'reserve']
const OF_SUBJECT = ['subject', 'policies', 'caller', 'weight', ...TAKING]

/** Refuses what a call does not know: a misspelt cost would be charged as 1 unit, and a `reserve` never be settled. */
function checkNames(options: object, known: readonly string[], call: string): void {
  if (typeof options !== 'object' || options === null)
    throw wrong('invalid_value', `the options of ${call} must be an object, got ${printed(options)}`)
  for (const name in options)
    if (!known.includes(name) && options[name as never] !== undefined)
      throw wrong('unknown_field', `unknown option ${printed(name)} of ${call}${suggestion(name, known)}`)
}

const wrong = (code: MistakeCode, sentence: string): ConfigError => new ConfigError([new Mistake(code, sentence)])
