import { type Caller, type CallerOptions, callerOf } from './decide/caller'
import { RequestKinds } from './decide/request-kind'
import type { LoggedRequest } from './requests/logged-request'
import type { CallerMemory, Decided, Side } from './side'

/** Whose requests one set of rules decides otherwise than the other. */
export interface Change {
  readonly client: string
  requests: number
  firstAt: number
  readonly policy: string
}

/** What the requests do not tell, by how many of them. */
export interface Unknowns {
  /** Callers of which there is neither a name nor an address. */
  callers: number
  /** Known callers without a tier. */
  tiers: number
  paths: number
  /** Messages of WebSockets, about which no authorizer is asked. */
  messages: number
  /** By tier: requests whose tier the rules do not have. */
  readonly missingTiers: Map<string, number>
  readonly apis: Set<string>
}

interface CachedCaller {
  /** A line of the caller. */
  readonly line: LoggedRequest
  readonly caller: Caller
  readonly memories: readonly CallerMemory[]
}

/** Callers that are remembered between their requests: with each address, tier and name one. */
const MOST_CALLERS = 400_000
/** Addresses and tiers of one caller that are remembered. */
const MOST_OF_ONE = 16

/** Replays requests against one set of rules, or against two, and compares. */
export class Simulation {
  readonly unknowns: Unknowns = {
    callers: 0,
    tiers: 0,
    paths: 0,
    messages: 0,
    missingTiers: new Map(),
    apis: new Set(),
  }
  /** Requests denied by the first side only, by client; and by the second side only. */
  readonly newlyDenied = new Map<string, Change>()
  readonly noLongerDenied = new Map<string, Change>()
  requests = 0
  firstAt: number | undefined
  lastAt = 0
  private readonly kinds = new RequestKinds()
  private readonly callers = new Map<string, CachedCaller[]>()
  private callerCount = 0

  /**
   * @param sides the rules to be, and what they are compared with.
   * @param each is told of what the first side decided.
   */
  constructor(
    readonly sides: readonly [Side] | readonly [Side, Side],
    private readonly options: CallerOptions,
    private readonly each?: (line: LoggedRequest, decided: Decided) => void,
  ) {}

  /** Replays requests in the order of their times. */
  async replay(lines: readonly LoggedRequest[]): Promise<void> {
    const [first, second] = this.sides
    for (const line of lines) {
      if (line.eventType !== undefined && line.eventType !== 'CONNECT') {
        this.unknowns.messages++
        continue
      }
      const { caller, memories } = this.callerOf(line)
      const kind = this.kinds.of(line)
      this.note(line, caller, kind.isPathless)
      const now = first.decide(line, caller, kind, memories[0]!)
      const decided = now instanceof Promise ? await now : now
      this.each?.(line, decided)
      if (!second) continue
      const then = second.decide(line, caller, kind, memories[1]!)
      const before = then instanceof Promise ? await then : then
      if (decided.passes !== before.passes) this.noteChange(line, caller, decided, before)
    }
  }

  private noteChange(line: LoggedRequest, { name }: Caller, after: Decided, before: Decided): void {
    const [changes, denial] = after.passes ? [this.noLongerDenied, before] : [this.newlyDenied, after]
    const known = changes.get(name)
    if (known) known.requests++
    else {
      const policy = typeof denial.answer === 'string' ? denial.answer : (denial.answer.deniedBy?.name ?? '')
      changes.set(name, { client: name, requests: 1, firstAt: line.at, policy })
    }
  }

  private note(line: LoggedRequest, caller: Caller, isPathless: boolean): void {
    const { unknowns } = this
    this.requests++
    this.firstAt ??= line.at
    this.lastAt = line.at
    if (caller.lacks === 'caller') unknowns.callers++
    else if (caller.lacks === 'tier') unknowns.tiers++
    if (isPathless) unknowns.paths++
    if (line.apiId !== undefined && unknowns.apis.size < 100) unknowns.apis.add(line.apiId)
    if (line.tier !== undefined && !this.hasTier(line.tier))
      unknowns.missingTiers.set(line.tier, (unknowns.missingTiers.get(line.tier) ?? 0) + 1)
  }

  private hasTier(tier: string): boolean {
    const { tiers, scoped } = this.sides[0].rules.configuration.policies
    return tiers.has(tier) || scoped?.tiers.has(tier) === true
  }

  private callerOf(line: LoggedRequest): CachedCaller {
    if (line.values) return this.remembered(line)
    const name = line.subject ?? line.client ?? line.key ?? line.user ?? line.ip ?? ''
    const known = this.callers.get(name)
    if (known) for (const one of known) if (isSameCaller(one.line, line)) return one
    const made = this.remembered(line)
    if (this.callerCount++ >= MOST_CALLERS) {
      this.callers.clear()
      this.callerCount = 0
    }
    if (known && known.length < MOST_OF_ONE) known.push(made)
    else this.callers.set(name, [made])
    return made
  }

  private remembered(line: LoggedRequest): CachedCaller {
    return { line, caller: callerOf(line, this.options), memories: this.sides.map(() => new Map()) }
  }
}

const isSameCaller = (one: LoggedRequest, other: LoggedRequest): boolean =>
  one.ip === other.ip &&
  one.tier === other.tier &&
  one.subject === other.subject &&
  one.client === other.client &&
  one.user === other.user &&
  one.key === other.key
