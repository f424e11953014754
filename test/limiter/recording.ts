import { createHash } from 'node:crypto'
import { createLimiter, type Decision, type Limiter, type LimiterOptions, MemoryStore, type Slot } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import type { AnyPolicyInput } from '../../limiter/policies/policy'
import { type Item, type ItemWrite, REFUND_MARK, type SeenMarks, type StateStore } from '../../limiter/stores/store'
import { everyAlgorithm, MIDNIGHT } from './limiters'

/** What two processes did in one course of requests, as far as others can see it. */
export interface Recorded {
  readonly calls: Readonly<Record<'read' | 'write' | 'delete', number>>
  readonly events: Readonly<Record<string, number>>
  /** Digests: every call in its order with what it stores, all decisions, and the items in the end. */
  readonly sent: string
  readonly decided: string
  readonly stored: string
}

const STEPS = 160
const SUBJECTS = ['client:a', 'client:b', 'ip:192.0.2.1']

const tokens = { cost: 'tokens', algorithm: 'token-bucket', limit: 60, window: '1m' } as const

/** Lists of policies, and whether requests take slots. */
const COURSES: Readonly<Record<string, readonly AnyPolicyInput[]>> = {
  ...Object.fromEntries(everyAlgorithm(12).map((policy) => [policy.name, [policy]])),
  'all algorithms': everyAlgorithm(40),
  'costs by name': [
    { name: 'requests', limit: 20, window: '1m' },
    { name: 'tokens', ...tokens },
  ],
  'locked out': [{ name: 'login', limit: 4, window: '1m', blockFor: '2m', after: 2 }],
  'past the limit': [
    { name: 'watched', limit: 5, window: '1m', action: 'observe' },
    { name: 'later', limit: 6, window: '1m', action: 'delay', maxDelay: '30s' },
    { name: 'low', limit: 7, window: '1m', action: 'deprioritize' },
    { name: 'more', limit: 8, window: '1m', overrun: '20%' },
  ],
  billed: [{ name: 'month', algorithm: 'fixed-window', limit: 15, window: 'day', overage: 'allow' }],
  leased: [{ name: 'all', limit: 300, window: '1m', consistency: 'leased' }],
  eventual: [{ name: 'all', limit: 60, window: '1m', consistency: 'eventual' }],
  'every consistency': [
    { name: 'own', limit: 30, window: '1m' },
    { name: 'all', limit: 300, window: '1m', consistency: 'leased' },
    { name: 'soft', limit: 200, window: '1m', consistency: 'eventual' },
  ],
  slots: [
    { name: 'running', algorithm: 'concurrency', limit: 3, timeout: '30s' },
    { name: 'minute', limit: 20, window: '1m' },
  ],
}

/** The courses, each with and without outages. */
export const COURSE_NAMES: readonly string[] = Object.keys(COURSES).flatMap((name) => [name, `${name}, with outages`])

/** Runs one course: the same requests each time, whatever the limiter makes of them. */
export async function record(name: string): Promise<Recorded> {
  const [of, outages] = name.split(', with ')
  const policies = COURSES[of!]!
  const random = seeded(name)
  const spied = jest.spyOn(Math, 'random').mockImplementation(seeded(`${name} in the limiter`))
  try {
    return await run(policies, outages !== undefined, random)
  } finally {
    spied.mockRestore()
  }
}

async function run(policies: readonly AnyPolicyInput[], hasOutages: boolean, random: () => number): Promise<Recorded> {
  let now = MIDNIGHT
  const store = new RecordingStore()
  const events: Record<string, number> = {}
  const decided = createHash('sha256')
  const say = (what: unknown) =>
    decided.update(`${JSON.stringify(what, (name, value) => (name === 'reservation' ? 'held' : value))}\n`)
  const make = (): Limiter => {
    const options = { store, policies, clock: () => now, deadlineMs: 20_000, onStoreError: 'local', localShare: 0.5 }
    const onEvent: LimiterOptions['onEvent'] = ({ kind }) => {
      events[kind] = (events[kind] ?? 0) + 1
    }
    return createLimiter({ ...options, onEvent } as LimiterOptions)
  }
  const limiters = [make(), make()]
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
  const charged: { readonly subject: string; readonly chargedAt: number; readonly delayMs: number }[] = []
  const held: { readonly end: (used: number) => Promise<boolean> }[] = []
  const costs = policies.flatMap((policy) => ('cost' in policy && policy.cost ? [policy.cost] : []))
  const slots = limiters[0]!.countsRunning

  for (let step = 0; step < STEPS; step++) {
    now += pick([0, 1, 40, 300, 1000, 4000, 20_000, 70_000, -500])
    store.isAway = hasOutages && step % 40 >= 20 && step % 40 < 32
    const limiter = pick(limiters)
    const subject = pick(SUBJECTS)
    const units = Math.floor(random() * 4)
    const options = { cost: units, ...(costs.length > 0 && { costs: { [costs[0]!]: units * 3 } }) }
    const kind = pick(['take', 'take', 'take', 'many', 'both', 'peek', 'refund', 'reset', 'hold', 'end', 'end'])
    try {
      if (kind === 'take' || kind === 'many') {
        const one = (): Promise<Decision & Partial<Slot>> =>
          slots ? limiter.acquire(subject, options) : limiter.take(subject, options)
        for (const decision of await Promise.all(Array.from({ length: kind === 'take' ? 1 : 6 }, one))) {
          say(decision)
          const { release } = decision
          if (release && decision.allowed) held.push({ end: () => release() })
          else if (decision.chargedAt !== null) charged.push({ subject, ...decision, chargedAt: decision.chargedAt })
        }
      } else if (kind === 'both' && !slots) {
        const subjects = SUBJECTS.slice(0, 2).map((one) => ({ subject: one, ...options }))
        say(await limiter.takeAll(subjects))
      } else if (kind === 'peek') say(await limiter.peek(subject, options))
      else if (kind === 'refund' && charged.length > 0) {
        const { subject: of, ...when } = charged.pop()!
        await limiter.refund(of, 1, when)
      } else if (kind === 'reset' && random() < 0.3) await limiter.reset(subject)
      else if (kind === 'hold' && policies.every(({ consistency = 'strict' }) => consistency === 'strict')) {
        const decision = slots
          ? await limiter.acquire(subject, { ...options, cost: 2, reserve: '1m' })
          : await limiter.take(subject, { ...options, cost: 2, reserve: '1m' })
        const { reservation } = decision
        say(decision)
        if (reservation) held.push({ end: (used) => pick(limiters).settle(reservation, usedOf(used, costs)) })
      } else if (kind === 'end' && held.length > 0) {
        const [one] = held.splice(Math.floor(random() * held.length), 1)
        say(await one!.end(Math.floor(random() * 6)))
      }
    } catch (error) {
      say([(error as Error).name, (error as Partial<StoreUnavailableError>).reason])
    }
    await new Promise(setImmediate) // what goes on in the background has ended before time goes on
  }
  store.isAway = false
  for (const limiter of limiters) await limiter.close()
  const stored = store.digest()
  return { calls: store.calls, events, sent: store.sent(), decided: decided.digest('base64url'), stored }
}

const usedOf = (units: number, costs: readonly string[]) =>
  costs.length === 0 ? units : { cost: units, costs: Object.fromEntries(costs.map((name) => [name, units])) }

/** A store in memory that writes down each call, names that chance chose replaced by their order. */
class RecordingStore implements StateStore {
  readonly calls = { read: 0, write: 0, delete: 0 }
  isAway = false
  private readonly inner = new MemoryStore()
  private readonly log = createHash('sha256')
  private readonly names = new Map<string, string>()
  private readonly keys = new Set<string>()

  write = (key: string, write: ItemWrite) => this.call('write', key, write, () => this.inner.write(key, write))
  read = (key: string) => this.call('read', key, undefined, () => this.inner.read(key))
  delete = (key: string, marks: SeenMarks) => this.call('delete', key, marks, () => this.inner.delete(key, marks))

  sent(): string {
    return this.log.digest('base64url')
  }

  digest(): string {
    const items = (this.inner as unknown as { items: Map<string, Item> }).items
    const all = [...this.keys].map((key) => items.get(key)?.policies)
    return createHash('sha256').update(this.said(all)).digest('base64url')
  }

  private async call<T>(kind: 'read' | 'write' | 'delete', key: string, what: unknown, make: () => Promise<T>) {
    this.calls[kind]++
    this.keys.add(key)
    this.log.update(`${kind} ${this.said([key, what])}\n`)
    if (this.isAway) throw new StoreUnavailableError('unreachable', 'away')
    return make()
  }

  /** As JSON; ids of writes, marks and names of holds by the order in which they were first seen. */
  private said(what: unknown): string {
    const name = (text: string) => {
      if (!this.names.has(text)) this.names.set(text, `${this.names.size}`)
      return this.names.get(text)!
    }
    return JSON.stringify(what ?? null)
      .replaceAll(/"(r\d)"/g, (_, mark: string) => (mark === REFUND_MARK ? '"refunds"' : `"mark ${name(mark)}"`))
      .replaceAll(/"([0-9a-z]{20,26})"/g, (_, hold: string) => `"hold ${name(hold)}"`)
      .replaceAll(/(?<="(?:value|rangeEnd|mark \d+|refunds)":)\d{10,}/g, name)
  }
}

/** Numbers from 0 to 1, the same for the same text. */
function seeded(text: string): () => number {
  let state = createHash('sha256').update(text).digest().readUInt32LE()
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
