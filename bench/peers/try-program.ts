import { randomUUID } from 'node:crypto'
import { CountingProxy } from '../../local/console/counting-proxy'
import { type Answered, type RunningProgram, startProgram } from './running-program'

export const LIMIT = 100
const MINUTE_MS = 60_000
const AGAIN = 20
export const CROWD = 130
/** After which a request counts as never answered: the clients of most APIs have left by then. */
export const ANSWERS_WITHIN_MS = 10_000

/** Calls of the store for one request. */
export interface Calls {
  readonly allowed: number
  /** The first request over the limit. */
  readonly denied: number
  /** Each one after that. */
  readonly deniedAgain: number
}

/** What callers get while the store is not there. */
export interface OutageResult {
  readonly first: Answered
  /** The slowest of three requests that follow one after another; `undefined` if the first was not answered. */
  readonly slowest: Answered | undefined
  /** Requests of another API key, all at once, by their status. */
  readonly crowd: ReadonlyMap<number | undefined, number>
}

/** `down`: each connection is closed as soon as it has asked. `slow`: nothing is ever answered. */
export type Outage = 'down' | 'slow'

/**
 * Runs a program until its limit and beyond, on a clock's minute that does not end meanwhile.
 *
 * @param store the URL of its store. @default it has none
 * @throws Error if it lets fewer or more than the limit pass, denies without a `Retry-After` of at most a minute, or
 * denies another key.
 */
export async function tryLimit(script: string, store?: string): Promise<Calls> {
  return running(script, store, async (program, proxy) => {
    for (;;) {
      const minute = minuteNow()
      const { calls, problem } = await spend(program, proxy, randomUUID())
      if (problem === undefined) return calls
      if (minute === minuteNow()) throw new Error(`${script}: ${problem}`)
    }
  })
}

const minuteNow = () => Math.floor(Date.now() / MINUTE_MS)

async function spend({ ask }: RunningProgram, proxy: CountingProxy | undefined, key: string) {
  const take = async (requests: number) => {
    proxy?.take()
    const answers: Answered[] = []
    for (let i = 0; i < requests; i++) answers.push(await ask(key, ANSWERS_WITHIN_MS))
    return { answers, calls: (proxy?.take().total ?? 0) / requests }
  }
  const allowed = await take(LIMIT)
  const denied = await take(1)
  const deniedAgain = await take(AGAIN)
  const other = await ask(`${key}-other`, ANSWERS_WITHIN_MS)

  const wrong = (answers: readonly Answered[], status: number) => answers.find((answer) => answer.status !== status)
  const denials = [...denied.answers, ...deniedAgain.answers]
  const first = wrong([...allowed.answers, other], 200) ?? wrong(denials, 429) ?? denials.find(lacksRetryAfter)
  return {
    calls: { allowed: allowed.calls, denied: denied.calls, deniedAgain: deniedAgain.calls } satisfies Calls,
    problem: first && `of ${LIMIT} a minute it answered ${JSON.stringify(first)}`,
  }
}

const lacksRetryAfter = ({ retryAfter = 0 }: Answered): boolean => !(retryAfter >= 1 && retryAfter <= 60)

/** Takes a program's store away while it runs. */
export function tryOutage(script: string, store: string, outage: Outage): Promise<OutageResult> {
  return running(script, store, async ({ ask }, proxy) => {
    const [known, other] = [randomUUID(), randomUUID()] // programs share a store
    await ask(known, ANSWERS_WITHIN_MS)
    proxy!.slowMs = 10 * MINUTE_MS
    proxy!.trouble = outage
    const askKnown = () => ask(known, ANSWERS_WITHIN_MS)
    const first = await askKnown()
    const more: Answered[] = []
    while (first.status !== undefined && more.length < 3) more.push(await askKnown())
    const answers = await Promise.all(Array.from({ length: CROWD }, () => ask(other, ANSWERS_WITHIN_MS)))
    const crowd = new Map<number | undefined, number>()
    for (const { status } of answers) crowd.set(status, (crowd.get(status) ?? 0) + 1)
    return { first, slowest: more.sort((a, b) => b.ms - a.ms)[0], crowd }
  })
}

/** Each has a proxy of its own before its store, if it has one. */
async function running<T>(
  script: string,
  store: string | undefined,
  use: (program: RunningProgram, proxy: CountingProxy | undefined) => Promise<T>,
): Promise<T> {
  const proxy = store === undefined ? undefined : new CountingProxy(store)
  const program = await startProgram(script, await proxy?.listen())
  try {
    return await use(program, proxy)
  } finally {
    await program.stop()
    await proxy?.close()
  }
}
