import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender, LimitSpec } from './contender'
import type { Present } from './contenders'

/** The result of an experiment: the text of the cell, and whether the limit held. */
export interface Finding {
  readonly cell: string
  readonly right: boolean
}

/** One question, put to every contender in the same way. */
export interface Experiment {
  /** The row's name. */
  readonly question: string
  /** How it was asked, for the notes below the table. */
  readonly how: string
  run(entrant: Present): Promise<Finding>
}

const HOUR = 3600

/** Each limit has a name of its own, so that no experiment finds another's counts. */
async function limited(contender: Contender, spec: LimitSpec) {
  await contender.limit(spec)
  return (requests: number, { cost = 1, inFlight = 1 } = {}) =>
    contender.take({ limit: spec.name, prefix: 'subject', requests, cost, inFlight })
}

const denial: Experiment = {
  question: 'calls per denial that repeats',
  how: 'limit of 20 an hour, spent; then 200 requests more, 4 at a time.',
  async run({ contender, proxy }) {
    const take = await limited(contender, { name: 'denial', units: 20, seconds: HOUR, kind: 'window' })
    await take(25)
    await proxy.counts()
    const { denied } = await take(200, { inFlight: 4 })
    const calls = (await proxy.counts()).total / 200
    return { cell: calls.toFixed(2), right: denied === 200 }
  },
}

const IDLE = { units: 100, seconds: 10 } as const

const idleBurst: Experiment = {
  question: 'burst after idle: admitted, and due',
  how: `bucket of ${IDLE.units} that fills up in ${IDLE.seconds} s; one request, ${IDLE.seconds + 1} s of silence, then 250 requests, 4 at a time. Due are the bucket and what flows in meanwhile.`,
  async run({ contender }) {
    const take = await limited(contender, { name: 'idle', ...IDLE, kind: 'bucket' })
    await take(1)
    await sleep((IDLE.seconds + 1) * 1000)
    const { allowed, elapsedMs } = await take(250, { inFlight: 4 })
    const due = Math.floor(IDLE.units + (IDLE.units / IDLE.seconds / 1000) * elapsedMs)
    return { cell: `${allowed}, due ${due}`, right: allowed <= due + 1 } // clocks count whole milliseconds
  },
}

const EDGE = { units: 100, seconds: 5 } as const
const HALF_MS = EDGE.seconds * 500
const BEFORE_EDGE_MS = 1200
/**
 * An answer may come so much later than its decision that two of them seem nearer to each other than they were decided.
 */
const SLOW_MS = 1000
const AFTER_EDGE_MS = [30, 500, 1000, 1500, 2000, 2500, 3000]

const boundary: Experiment = {
  question: `limit of ${EDGE.units} per ${EDGE.seconds} s, attacked at a window's edge: most within any ${HALF_MS / 1000} s, and any ${EDGE.seconds} s`,
  how:
    `100 requests ${BEFORE_EDGE_MS} ms before the edge and 120 at each of ${AFTER_EDGE_MS.join(', ')} ms after it, 16 at a time; once with the edge of ` +
    "the clock, once with that of a window that began with the subject's first request; the worse of both.",
  async run({ name, contender }) {
    const kinds = name.startsWith('sluice') ? (['window', 'fixed', 'log'] as const) : (['window'] as const)
    const cells = await Promise.all(kinds.map(async (kind) => ({ kind, ...(await worstOfBothEdges(contender, kind)) })))
    const named = { window: 'sliding-window', fixed: 'fixed-window', log: 'sliding-log', bucket: '' } as const
    const text = ({ kind, half, window }: (typeof cells)[number]) =>
      `${kinds.length > 1 ? `${named[kind]} ` : ''}${half}, ${window}`
    const right = cells.every(({ kind, sure }) => kind !== 'log' || sure <= EDGE.units)
    return { cell: cells.map(text).join('; '), right }
  },
}

async function worstOfBothEdges(contender: Contender, kind: LimitSpec['kind']) {
  const clock = await attackEdge(contender, kind, 'clock')
  const own = await attackEdge(contender, kind, 'own')
  return {
    half: Math.max(clock.half, own.half),
    window: Math.max(clock.window, own.window),
    sure: Math.max(clock.sure, own.sure),
  }
}

async function attackEdge(contender: Contender, kind: LimitSpec['kind'], whose: 'clock' | 'own') {
  const take = await limited(contender, { name: `edge-${kind}-${whose}`, ...EDGE, kind })
  const windowMs = EDGE.seconds * 1000
  const admitted: number[] = []
  let edge = Math.ceil((Date.now() + BEFORE_EDGE_MS) / windowMs) * windowMs
  if (whose === 'own') {
    admitted.push(...(await take(1)).allowedAt)
    edge = admitted[0]! + windowMs
  }
  await sleep(edge - BEFORE_EDGE_MS - Date.now())
  admitted.push(...(await take(100, { inFlight: 16 })).allowedAt)
  for (const after of AFTER_EDGE_MS) {
    await sleep(Math.max(0, edge + after - Date.now()))
    admitted.push(...(await take(120, { inFlight: 16 })).allowedAt)
  }
  return {
    half: mostWithin(admitted, HALF_MS),
    window: mostWithin(admitted, windowMs),
    sure: mostWithin(admitted, windowMs - SLOW_MS),
  }
}

/** Most of these moments that lie in any interval of that length. */
export function mostWithin(moments: readonly number[], lengthMs: number): number {
  const sorted = [...moments].sort((a, b) => a - b)
  let from = 0
  return sorted.reduce((most, moment, i) => {
    while (sorted[from]! <= moment - lengthMs) from++
    return Math.max(most, i - from + 1)
  }, 0)
}

const cost: Experiment = {
  question: 'cost 1 after a refused cost 5, with 3 units left',
  how: 'limit of 10 an hour; 7 units taken, 5 refused, then 1 asked for.',
  async run({ contender }) {
    const take = await limited(contender, { name: 'cost', units: 10, seconds: HOUR, kind: 'window' })
    await take(1, { cost: 7 })
    const refused = await take(1, { cost: 5 })
    const { allowed } = await take(1, { cost: 1 })
    if (refused.denied !== 1)
      throw new Error(`a request of 5 units was not refused where 3 are left: ${JSON.stringify(refused)}`)
    return { cell: allowed === 1 ? 'allowed' : 'denied', right: allowed === 1 }
  },
}

const lostAnswer: Experiment = {
  question: 'units charged for one request whose answer was lost',
  how: 'limit of 10 an hour; the proxy applies a write and closes the connection before the answer; then requests until one is denied.',
  async run({ contender, proxy }) {
    const take = await limited(contender, { name: 'lost', units: 10, seconds: HOUR, kind: 'window' })
    await take(1)
    await proxy.setTrouble('lose')
    const { allowed, errors } = await take(1)
    await proxy.setTrouble('none')
    const left = (await take(12)).allowed
    const charged = 9 - left
    const told = allowed === 1 ? 'allowed' : errors === 1 ? 'an exception' : 'denied'
    return { cell: `${charged} (${told})`, right: charged === 1 && allowed === 1 }
  },
}

const outage: Experiment = {
  question: 'table gone, limit of 20: admitted of 40',
  how: 'one request, then every connection is closed as soon as it has asked, and 40 requests follow at once.',
  async run({ contender, proxy }) {
    const take = await limited(contender, { name: 'outage', units: 20, seconds: HOUR, kind: 'window' })
    await take(1)
    await proxy.setTrouble('down')
    const { allowed, denied, errors, degraded } = await take(40, { inFlight: 40 }).finally(() =>
      proxy.setTrouble('none'),
    )
    const rest = [
      denied > 0 && `${denied} denied`,
      errors > 0 && `${errors} exceptions`,
      degraded > 0 && 'marked degraded',
    ].filter(Boolean)
    return { cell: [allowed, ...rest].join(', '), right: allowed <= 20 }
  },
}

/** In order: the last one may leave anything behind, since none comes after it. */
export const EXPERIMENTS: readonly Experiment[] = [denial, cost, lostAnswer, idleBurst, boundary, outage]
