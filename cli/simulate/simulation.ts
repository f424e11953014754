import { type Caller, type CallerOptions, callerOf } from './decide/caller'
import type { RequestClass } from './decide/preparer'
import { kindOf } from './decide/request-kind'
import type { LoggedRequest, Target } from './requests/logged-request'
import { CallerMemory, type Decided, type Side } from './side'

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

/** What is known of a sender. */
interface KnownSender {
  readonly by: Simulation
  readonly caller: Caller
  /** Of the first side. */
  readonly first: CallerMemory
  /** Of the second side. */
  readonly second: CallerMemory
  /** A tier that the rules do not have. */
  readonly missingTier: string | undefined
}

/** What is known of a target. */
interface KnownTarget {
  readonly by: Simulation
  readonly isMessage: boolean
  readonly isPathless: boolean
  /** Of each side. */
  readonly classes: readonly RequestClass[]
}

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
      const target = this.knownTarget(line.target)
      if (target.isMessage) {
        this.unknowns.messages++
        continue
      }
      const sender = this.knownSender(line)
      const { caller } = sender
      this.note(line, sender, target)
      const now = first.decide(line, caller, target.classes[0]!, sender.first)
      const decided = now instanceof Promise ? await now : now
      this.each?.(line, decided)
      if (!second) continue
      const then = second.decide(line, caller, target.classes[1]!, sender.second)
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

  private note(line: LoggedRequest, { caller, missingTier }: KnownSender, { isPathless }: KnownTarget): void {
    const { unknowns } = this
    this.requests++
    this.firstAt ??= line.at
    this.lastAt = line.at
    if (caller.lacks === 'caller') unknowns.callers++
    else if (caller.lacks === 'tier') unknowns.tiers++
    if (isPathless) unknowns.paths++
    if (missingTier !== undefined)
      unknowns.missingTiers.set(missingTier, (unknowns.missingTiers.get(missingTier) ?? 0) + 1)
  }

  private hasTier(tier: string): boolean {
    const { tiers, scoped } = this.sides[0].rules.configuration.policies
    return tiers.has(tier) || scoped?.tiers.has(tier) === true
  }

  private knownTarget(target: Target): KnownTarget {
    return this.known(target, () => this.learnTarget(target))
  }

  private knownSender(line: LoggedRequest): KnownSender {
    const learn = () => this.learnSender(line)
    return line.values ? learn() : this.known(line.sender, learn) // a claim may be of this request only
  }

  private known<T extends KnownTarget | KnownSender>(of: { known?: unknown }, learn: () => T): T {
    const known = of.known as T | undefined
    if (known?.by === this) return known
    const learnt = learn()
    of.known = learnt
    return learnt
  }

  private learnTarget(target: Target): KnownTarget {
    const { eventType, apiId } = target
    const kind = kindOf(target)
    const known = {
      by: this,
      isMessage: eventType !== undefined && eventType !== 'CONNECT',
      isPathless: kind.isPathless,
      classes: this.sides.map(({ preparer }) => preparer.classOf(kind)),
    }
    const { apis } = this.unknowns
    if (!known.isMessage && apiId !== undefined && apis.size < 100) apis.add(apiId)
    return known
  }

  private learnSender(line: LoggedRequest): KnownSender {
    const { tier } = line.sender
    return {
      by: this,
      caller: callerOf(line, this.options),
      first: new CallerMemory(),
      second: new CallerMemory(),
      missingTier: tier === undefined || this.hasTier(tier) ? undefined : tier,
    }
  }
}
