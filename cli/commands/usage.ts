import type { RateLimiter } from '../../lambda/limiter/rate-limiter'
import { durationMs } from '../arguments'
import { type AddCommand, describeAnswering, type Session } from '../command'
import { UserError } from '../exit'
import { type AboutSubject, nameOf, openSubject, SUBJECT, withTier } from '../limits'
import { duration } from '../output'
import { type Counted, countedOf, type Subject } from '../subjects'

interface Options extends AboutSubject {
  readonly watch?: boolean
  /** Milliseconds. */
  readonly interval: number
}

/** How one policy stands. */
interface Usage {
  readonly policy: string
  readonly route: string | null
  /** Units per window. */
  readonly limit: number
  /** Units that are gone of those that a whole quota has, which with a burst may be another number than the limit. */
  readonly used: number
  readonly remaining: number
  readonly resetAfterMs: number
}

export const addUsage: AddCommand = (group, session) => {
  withTier(
    describeAnswering(group, 'usage <subject>', `Show how every policy of somebody stands: ${SUBJECT}. Nothing is charged.`, [
      'sluice usage acme',
      'sluice usage ip:203.0.113.7 --watch',
    ]),
  )
    .option('--watch', 'draw it again and again until Ctrl-C')
    .option('--interval <duration>', 'how often, with --watch', durationMs, 2000)
    .action(async (text: string, options: Options) => {
      const { subject, limiter } = await openSubject(session, text, options)
      const counted = countedOf(subject)
      if (counted.length === 0) throw new UserError(`${nameOf(subject)} is held to no policies`)
      const show = async (drawn: number) => print(session, subject, await usageOf(subject, counted, limiter), options, drawn)
      if (!options.watch) return void (await show(0))
      await session.io.interrupts.during(async (pressed) => {
        for (let lines = 0; !pressed.aborted; await pause(options.interval, pressed)) lines = await show(lines)
      })
    })
}

async function usageOf({ key }: Subject, counted: readonly Counted[], limiter: RateLimiter): Promise<Usage[]> {
  const { policies } = await limiter.peek([{ key, policies: counted.map(({ compiled }) => compiled), cost: 0 }])
  return counted.map(({ policy, route, compiled }) => {
    const { limit, remaining, resetAfterMs } = policies[compiled.name]!
    const whole = compiled.algorithm.step({}, compiled.quota, 0, 0).verdict.remaining
    return { policy, route: route ?? null, limit, used: Math.max(0, whole - remaining), remaining, resetAfterMs }
  })
}

/** @param drawn lines to draw over. @returns the lines drawn now. */
function print({ print }: Session, subject: Subject, usage: readonly Usage[], { json, watch }: Options, drawn: number): number {
  if (json) {
    const value = { subject: subject.name, tier: subject.tier?.name ?? null, policies: usage }
    if (watch) print.raw(`${JSON.stringify(value)}\n`)
    else print.json(value)
    return 0
  }
  const byRoute = usage.some(({ route }) => route !== null)
  const text = print.tableText(
    ['policy', ...(byRoute ? ['route'] : []), '', 'used', 'remaining', 'limit', 'whole again in'],
    usage.map(({ policy, route, limit, used, remaining, resetAfterMs }) => [
      policy,
      ...(byRoute ? [route ?? ''] : []),
      print.bar(used, used + remaining),
      String(used),
      String(remaining),
      String(limit),
      duration(resetAfterMs),
    ]),
  )
  const lines = [nameOf(subject), ...text.split('\n')]
  if (print.isTerminal && drawn > 0) print.raw(`\u001b[${drawn}A\u001b[J`)
  for (const line of lines) print.line(line)
  return lines.length
}

function pause(ms: number, pressed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms)
    pressed.addEventListener('abort', end, { once: true })
    function end() {
      clearTimeout(timer)
      pressed.removeEventListener('abort', end)
      resolve()
    }
  })
}
