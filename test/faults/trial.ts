import { setTimeout as sleep } from 'node:timers/promises'
import type { Told } from './instance'

/** A problem of a cell. */
export interface Problem {
  readonly text: string
  /** Whether a busy machine could be the cause instead of the code. */
  readonly perhapsTheMachine: boolean
}

export const wrong = (text: string): Problem => ({ text, perhapsTheMachine: false })
export const late = (text: string): Problem => ({ text, perhapsTheMachine: true })

/** The result of a cell: how the request was answered, and its problems. */
export interface Outcome<Verdict extends string = string> {
  readonly verdict: Verdict
  readonly problems: readonly Problem[]
}

/**
 * A cell being run. Several cells run their steps together, so that nothing else loads the machine while requests have
 * their faults.
 */
export interface Trial<Verdict extends string = string> {
  prepare(): Promise<void>
  /** Sends the request with the fault. */
  meet(): Promise<void>
  /** Returns the result, and checks the state afterwards. */
  settle(): Promise<Outcome<Verdict>>
}

/** How late a decision may be after its deadline. */
export const GRACE_MS = 20

const AT_ONCE = 28
/** How often a late cell is run by itself before the machine is ruled out as the cause. */
const MAX_RUNS = 4

/** Runs cells in groups, and those that were late again by themselves. */
export async function runTrials<Verdict extends string>(
  makers: readonly (() => Trial<Verdict>)[],
): Promise<Outcome<Verdict>[]> {
  const outcomes: Outcome<Verdict>[] = []
  for (let from = 0; from < makers.length; from += AT_ONCE)
    outcomes.push(...(await runTogether(makers.slice(from, from + AT_ONCE))))
  for (const [i, make] of makers.entries()) {
    for (let run = 1; run < MAX_RUNS && isPerhapsTheMachine(outcomes[i]!); run++)
      outcomes[i] = (await runTogether([make]))[0]!
  }
  return outcomes
}

const isPerhapsTheMachine = ({ problems }: Outcome): boolean =>
  problems.length > 0 && problems.every(({ perhapsTheMachine }) => perhapsTheMachine)

async function runTogether<Verdict extends string>(
  makers: readonly (() => Trial<Verdict>)[],
): Promise<Outcome<Verdict>[]> {
  const trials = makers.map((make) => make())
  for (const trial of trials) await trial.prepare()
  await Promise.all(trials.map((trial) => trial.meet()))
  return Promise.all(trials.map((trial) => trial.settle()))
}

/** One answer and its timing. */
export interface Timed {
  readonly told: Told | undefined
  readonly thrown: unknown
  /**
   * How late the answer was after the deadline, minus how late this process's timers were. Negative if it came before.
   */
  overrunMs(since?: number): number
}

/** Sends a request, with a timer of the same length beside it. */
export async function timed(deadlineMs: number, ask: () => Promise<Told>): Promise<Timed> {
  const startedAt = performance.now()
  const lag = sleep(deadlineMs).then(() => performance.now() - startedAt - deadlineMs)
  let told: Told | undefined
  let thrown: unknown
  try {
    told = await ask()
  } catch (error) {
    thrown = error
  }
  const endedAt = performance.now()
  const lagMs = endedAt - startedAt < deadlineMs ? 0 : await lag
  return { told, thrown, overrunMs: (since = startedAt) => endedAt - since - deadlineMs - lagMs }
}

/** Whether a policy decided, by the table or by the failure mode. */
const isCounted = ({ reason }: Told): boolean => reason === 'ok' || reason === 'over-limit'
/** Whether the table decided. */
export const isReal = (told: Told): boolean => isCounted(told) && !told.degraded
