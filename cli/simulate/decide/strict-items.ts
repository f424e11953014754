import type { CompiledPolicy } from '../../facade/decisions'
import {
  type Answer,
  type Assignment,
  applyTo,
  type Call,
  type ConditionalWrite,
  expiryFor,
  FleetClock,
  type Item,
  type ItemWrite,
  isRecent,
  type KnownItems,
  NO_ITEM,
  type Plan,
  type PolicyWrite,
  type View,
  writeUnitsOfState,
} from '../../facade/simulation'
import type { EpochMs } from '../../facade/values'
import type { Calls } from './limiter'

/** A subject's item, and what the instance knows of it: with one instance, they are the same. */
class Held implements View, Item {
  readonly policies: { [prefix: string]: OwnFields } = {}
  readonly marks = NO_ITEM.marks
  expiresAtSeconds = 0
  seenAt: EpochMs = -Infinity
  shared = false
  denial: View['denial'] = undefined
  /** What the writes to it are billed, in units each. */
  writeUnits = 0

  get item(): Item {
    return this
  }
}

/** An item is measured when it is new, and once in so many writes of all items. */
const MEASURED_EVERY = 64
/** After so many new subjects it is looked for items that have expired. */
const SWEEP_AFTER = 50_000
/** Every write is sent once, so that none has to be known again. */
const ANY_ID = { mark: 'r0', value: 0 }

/**
 * Subjects' items in memory, and the synchronous loop that carries out what is planned for them. Nobody else writes to
 * them, so no write is refused, and their fields are changed in place.
 */
export class StrictItems implements KnownItems {
  /** As the limiter has it by default. */
  readonly options = { denialTtlMs: 5000, onEvent: () => {} }
  readonly fleet = new FleetClock()
  clock: EpochMs = 0
  private readonly held = new Map<string, Held>()
  /** The one that was asked for last, which a plan asks for several times. */
  private lastKey: string | undefined
  private last: Held | undefined
  private sweepAt = SWEEP_AFTER

  constructor(private readonly calls: Calls) {}

  now(): EpochMs {
    return this.clock
  }

  view(key: string): Held | undefined {
    if (key !== this.lastKey) {
      this.last = this.held.get(key)
      this.lastKey = key
    }
    return this.last && !this.isExpired(this.last) ? this.last : undefined
  }

  recentView(key: string): View | undefined {
    const view = this.view(key)
    return view && isRecent(view, this.clock, this.options.denialTtlMs) ? view : undefined
  }

  nextId(): ItemWrite['id'] {
    return ANY_ID
  }

  /** Memory takes a write of any size. */
  fit(
    parts: readonly PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item | undefined,
    at: EpochMs,
  ): ItemWrite {
    return { parts, id: ANY_ID, expiresAtSeconds: expiryFor(policies, seen, at), at }
  }

  run<T>(key: string, plan: Plan<T>): T {
    let step = plan.next()
    while (!step.done) step = plan.next(this.sent(key, step.value))
    return step.value
  }

  /** Nothing is ever deleted. */
  private sent(key: string, call: Call): Answer {
    if (call.kind === 'write') return { kind: 'applied', item: this.write(key, call.write), afterDoubt: false }
    this.calls.reads++
    return { kind: 'read', item: this.seen(key), afterDoubt: false }
  }

  /** @returns the item that the write found; what is known already is changed in place. */
  write(key: string, { parts, expiresAtSeconds }: ItemWrite): Item {
    const found = this.view(key)
    const held = this.seen(key)
    const { policies } = held
    for (const { prefix, write } of parts) policies[prefix] = after(policies[prefix], write)
    if (expiresAtSeconds !== undefined) held.expiresAtSeconds = expiresAtSeconds
    if (this.calls.writes++ % MEASURED_EVERY === 0 || held.writeUnits === 0)
      held.writeUnits = writeUnitsOfState(policies)
    this.calls.writeUnits += held.writeUnits
    return found ?? NO_ITEM
  }

  /** The item, which the instance has seen now. */
  private seen(key: string): Held {
    const held = this.view(key) ?? this.made(key)
    held.seenAt = this.clock
    held.denial = undefined
    return held
  }

  private made(key: string): Held {
    if (this.held.size >= this.sweepAt) this.sweep()
    this.last = new Held()
    this.held.set(key, this.last)
    this.lastKey = key
    return this.last
  }

  private sweep(): void {
    for (const [key, held] of this.held) if (held.expiresAtSeconds === 0 || this.isExpired(held)) this.held.delete(key)
    this.sweepAt = this.held.size + Math.max(SWEEP_AFTER, this.held.size >> 1)
  }

  private isExpired({ expiresAtSeconds }: Held): boolean {
    return expiresAtSeconds > 0 && expiresAtSeconds * 1000 <= this.clock
  }
}

/** What a policy keeps, which nobody else has. */
type OwnFields = Record<string, number | number[]>

/**
 * The fields after a write, changed in place; but where some are removed, copied without them: an object of which
 * something was deleted is slow and large for ever.
 */
function after(before: OwnFields | undefined, write: ConditionalWrite): OwnFields {
  const removed = write.assignments.filter(isRemoval)
  const fields = before && removed.length === 0 ? before : without(before, removed)
  applyTo(fields, write)
  return fields
}

const isRemoval = (one: Assignment): one is Removal => 'purge' in one || 'remove' in one
type Removal = Extract<Assignment, { readonly purge: true } | { readonly remove: true }>

function without(before: OwnFields | undefined, removed: readonly Removal[]): OwnFields {
  const fields: OwnFields = {}
  for (const name in before) if (!removed.some(({ field }) => field === name)) fields[name] = before[name]!
  return fields
}
