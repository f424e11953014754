import { Agent, type IncomingMessage, request } from 'node:http'
import type { LastAnswer, Pace, Shot } from '../../pages/console/protocol'

/** The maximum of concurrent requests; further ones are skipped. */
const MAX_UNDER_WAY = 64
const MAX_BODY = 4000
/** The time after which firing stops: after the last page is gone, and for an abandoned page. */
const MAX_MS = 10 * 60_000

/** The target of requests, and the listeners for their results. */
export interface Range {
  readonly port: () => number
  readonly keyHeader: string | null
  /** Its method and target. */
  readonly targetOf: (route: string) => string
  /** Gets the answer that is to be told; `null` when a new stream of requests begins. */
  readonly answered: (answer: LastAnswer | null) => void
  readonly changed: () => void
  readonly clock: () => number
  readonly random: () => number
}

/** Sends requests to the gateway itself, over HTTP, as any client would. */
export class Firing {
  /** A connection for each request: a server may close a kept one just when a request is sent on it, which is lost. */
  readonly #agent = new Agent({ maxSockets: MAX_UNDER_WAY })
  readonly #range: Range
  #shot: Shot | undefined
  #timer: NodeJS.Timeout | undefined
  #underWay = 0
  #left = 0
  #passed = 0
  #told: LastAnswer | undefined

  constructor(range: Range) {
    this.#range = range
  }

  /** What is being sent, or `null`. */
  get shot(): Shot | null {
    return this.#shot ?? null
  }

  /** Ends the previous stream of requests, and begins this one. */
  start(shot: Shot): void {
    this.stop()
    this.#shot = shot
    this.#range.answered(null)
    const { pace } = shot
    if (pace.kind === 'burst') {
      this.#left = pace.requests
      this.#passed = 0
      this.#told = undefined
      for (let i = 0; i < Math.min(MAX_UNDER_WAY, pace.requests); i++) this.#nextOfBurst(shot)
    } else this.#rate(shot, pace, this.#range.clock())
    this.#range.changed()
  }

  stop(): void {
    clearTimeout(this.#timer)
    if (this.#shot === undefined) return
    this.#shot = undefined
    this.#left = 0
    this.#range.changed()
  }

  close(): void {
    this.stop()
    this.#agent.destroy()
  }

  #nextOfBurst(shot: Shot): void {
    if (this.#shot !== shot) return
    if (this.#left === 0) {
      if (this.#underWay === 0) this.stop()
      return
    }
    this.#left--
    this.#send(shot, () => this.#nextOfBurst(shot))
  }

  #rate(shot: Shot, pace: Exclude<Pace, { kind: 'burst' }>, began: number): void {
    let due = began
    const beat = () => {
      if (this.#shot !== shot) return
      const now = this.#range.clock()
      if (now - began > MAX_MS) return this.stop()
      if (due < now - 1000) due = now // a machine that slept does not make up for it
      for (; due <= now; due += gapMs(pace, this.#range.random))
        if (this.#underWay < MAX_UNDER_WAY) this.#send(shot, () => {})
      this.#timer = setTimeout(beat, Math.max(1, due - this.#range.clock()))
    }
    beat()
  }

  /** Of requests sent at once the order of answers says nothing: one that did not pass is told, if there is any. */
  #answered(shot: Shot, answer: LastAnswer): void {
    const { answered } = this.#range
    if (this.#shot !== undefined && this.#shot !== shot) return // an earlier stream's
    if (shot.pace.kind !== 'burst' || this.#shot === undefined) {
      answered(answer)
      return
    }
    const hasPassed = answer.status < 400
    if (hasPassed) this.#passed++
    if (!hasPassed || this.#told === undefined || this.#told.status < 400) this.#told = answer
    answered({ ...this.#told, burst: { requests: shot.pace.requests, passed: this.#passed } })
  }

  #send(shot: Shot, done: () => void): void {
    const { route, apiKey } = shot
    const { port, keyHeader, targetOf, clock } = this.#range
    const method = route.split(' ')[0]!
    this.#underWay++
    let isOver = false
    const over = () => {
      if (isOver) return
      isOver = true
      this.#underWay--
      done()
    }
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: port(),
        method,
        path: targetOf(route),
        agent: this.#agent,
        headers: { 'User-Agent': 'sluice-console', ...(apiKey !== null && keyHeader && { [keyHeader]: apiKey }) },
      },
      (answer) => {
        bodyOf(answer).then(
          (body) => {
            const { rawHeaders } = answer
            const headers = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1]!] as const] : []))
            this.#answered(shot, {
              at: clock(),
              apiKey,
              request: `${method} ${targetOf(route)}`,
              status: answer.statusCode!,
              headers,
              body,
            })
            over()
          },
          () => over(),
        )
      },
    )
    outgoing.once('error', over)
    outgoing.end()
  }
}

/** The time to the next request, in milliseconds. */
function gapMs({ kind, perSecond }: Exclude<Pace, { kind: 'burst' }>, random: () => number): number {
  const mean = 1000 / perSecond
  return kind === 'steady' ? mean : -Math.log(1 - random()) * mean
}

async function bodyOf(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer) if (text.length < MAX_BODY) text += chunk
  return text.slice(0, MAX_BODY)
}
