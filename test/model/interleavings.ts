import { judge } from './judge'
import { report } from './replay'
import type { CallFault, Scenario } from './scenario'
import { type Chronicle, Simulation } from './simulation'

/** The extent of a search. */
export interface Searched {
  /** Runs, each with another order of calls or another fault. */
  readonly runs: number
  /** Different histories: what the store did in which order, and each answer. */
  readonly histories: number
}

/** The faults of one call. */
const FAULTS: readonly CallFault[] = [
  'request lost',
  'answer lost',
  'answer late',
  'copied late',
  'unreachable',
  'reset after',
  'throttled',
  'hot',
]

/**
 * Runs a scenario in every order in which its calls can arrive at the store, each of these with every fault at every
 * call, and checks all laws each time.
 *
 * A run is repeated with another choice wherever it could have gone on differently, until no choice is left. Nothing is
 * random.
 */
export async function everyInterleaving(scenario: Scenario, faults: readonly CallFault[] = FAULTS): Promise<Searched> {
  const histories = new Set<string>()
  let runs = 0
  const search = async (meets?: { readonly call: number; readonly fate: CallFault }): Promise<number> => {
    let calls = 0
    let prefix: number[] | undefined = []
    while (prefix) {
      const choices: Choices = new Choices(prefix)
      const chronicle = await new Simulation(scenario, { next: (count) => choices.next(count), meets }).run()
      const breaches = judge(chronicle)
      if (breaches.length > 0) throw new Error(`${described(choices, meets)}\n${report(chronicle, breaches)}`)
      runs++
      histories.add(digest(chronicle))
      calls = Math.max(calls, chronicle.calls)
      prefix = choices.following()
    }
    return calls
  }
  const calls = await search()
  for (const fate of faults) for (let call = 0; call < calls; call++) await search({ call, fate })
  return { runs, histories: histories.size }
}

/** One path through all choices, and the next one. */
class Choices {
  private readonly made: { readonly chosen: number; readonly of: number }[] = []

  constructor(private readonly prefix: readonly number[]) {}

  next(of: number): number {
    const chosen = this.prefix[this.made.length] ?? 0
    this.made.push({ chosen, of })
    return chosen
  }

  following(): number[] | undefined {
    const last = this.made.findLastIndex(({ chosen, of }) => chosen + 1 < of)
    return last < 0 ? undefined : [...this.made.slice(0, last).map(({ chosen }) => chosen), this.made[last]!.chosen + 1]
  }

  get all(): readonly number[] {
    return this.made.map(({ chosen }) => chosen)
  }
}

const described = ({ all }: Choices, meets?: { readonly call: number; readonly fate: CallFault }): string =>
  `Of the calls under way those arrive: ${all.join(', ')}${meets ? `; call ${meets.call} meets: ${meets.fate}` : ''}`

const digest = ({ entries, requests }: Chronicle): string =>
  JSON.stringify([
    entries.map(({ call: { instance, kind, key }, outcome, copy }) => [instance.epoch, kind, key, outcome, copy]),
    requests.map(({ position, decisions, errors }) => [
      position,
      decisions.map(({ decision: { allowed, degraded, remaining } }) => [allowed, degraded, remaining]),
      errors.length,
    ]),
  ])
