import { costsByName, wholeNumber } from '../arguments'
import { requestedBy } from '../callers/counted'
import { entryText } from '../callers/deciding-entry'
import { type AboutSubject, nameOf, openSubject, withSubject } from '../callers/limits'
import { checkCosts, type EachCost, eachCost, unitsText } from '../callers/named-costs'
import { costing, decideFor, type Verdict } from '../callers/subject-traces'
import type { Subject } from '../callers/subjects'
import { type AddCommand, describeTableCommand } from '../command'
import { UserError } from '../exit'
import { type Decision, NO_FACTS, rulesOf, unitsFor } from '../facade/decisions'
import { duration, type Printer } from '../terminal/output'

interface Options extends AboutSubject {
  readonly cost?: number
  readonly costs?: Readonly<Record<string, number>>
  readonly route?: string
}

export const addPeek: AddCommand = (group, session) => {
  const { print } = session
  withSubject(
    describeTableCommand(
      group,
      'peek',
      'Show how a request would be decided now, and what is left then. Nothing is charged.',
      [
        'sluice peek acme',
        'sluice peek acme --route "GET /search" --cost 5',
        'sluice peek acme --route "POST /chat" --costs tokens=500',
      ],
    ),
  )
    .option('--route <request>', 'method, path and query (default: no configured route)')
    .option('--cost <units>', 'cost of the request (default: the route’s cost, else 1)', wholeNumber(0))
    .option('--costs <name=units>', 'its costs by name; repeatable (default: the route’s costs, else 1)', costsByName)
    .action(async (text: string, options: Options) => {
      const { subject: found, parts } = await openSubject(session, text, options)
      if (found.hash !== undefined)
        throw new UserError(
          `${found.hash} cannot be resolved, so whether it is blocked is not known: peek needs its name, usage shows its counters`,
        )
      if (found.unread !== undefined) throw new UserError(`${nameOf(found)} makes no requests: ${found.unread}`)
      const requested = requestedBy(found, options.route)
      const { costs } = rulesOf(found.configuration.policies, requested.method, requested.path)
      const decided = await decideFor(found.asked, requested, options, parts)
      const asked = decided.plan?.groups.flatMap(({ policies }) => policies) ?? []
      if (decided.plan) checkCosts(options.costs, asked, nameOf(found))
      const units = eachCost(decided.units ?? costing(unitsFor(costs, NO_FACTS), options), asked)
      const verdict = { ...decided, units }
      const { tier } = verdict.trace
      const subject = tier?.name ? { ...found, tier } : found
      for (const line of parts.logged) print.note(line)
      checkIsAbout(subject, verdict)
      if (options.json) print.json(asJson(subject, verdict))
      else for (const line of linesOf(subject, verdict, print)) print.line(line)
    })
}

/** Throws where the verdict is not about the subject: no policy counts it there, or its record names nobody. */
function checkIsAbout(subject: Subject, { trace, plan, decision, unasked }: Verdict): void {
  const name = nameOf(subject)
  if (trace.identity?.kind === 'anonymous' && subject.asked.claim)
    throw new UserError(`requests of ${name} would be anonymous, so peek at an address instead: ip:…`)
  if (plan?.groups.length === 0 && !decision && (unasked.length > 0 || subject.asked.kind === 'part'))
    throw new UserError(`${name} has no policies there${unaskedText(unasked)}`)
}

/** A verdict with what the request takes, each cost apart. */
type Shown = Verdict & { readonly units: EachCost }

function asJson(subject: Subject, { context, decision, units, unasked }: Shown) {
  const { allowed, reason } = context
  return {
    subject: subject.name,
    tier: subject.tier?.name ?? null,
    ...units,
    mode: subject.configuration.policies.settings.mode,
    reason: decision ? null : reason,
    ...(subject.entry && { entry: subject.entry }),
    ...decision,
    allowed,
    ...(!decision && allowed && { retryAfterMs: 0 }),
    notConsidered: unasked.flatMap(({ who, policies }) => policies.map(({ name }) => ({ policy: name, by: who }))),
  }
}

function linesOf(subject: Subject, verdict: Shown, print: Printer): string[] {
  const { context, decision, units, unasked } = verdict
  const { allowed } = context
  const verdictText = allowed ? print.style('green', 'would be allowed') : print.style('red', 'would be denied')
  const why = decision ? aboutDecision(subject, decision) : whyOf(subject, verdict)
  const first = `${nameOf(subject)}: a request of cost ${unitsText(units)} ${verdictText}${why}`
  if (!decision) return [first]
  const { policy, limit, remaining, retryAfterMs } = decision
  const when =
    retryAfterMs === Infinity ? 'it can never be allowed' : `it would be allowed in ${duration(retryAfterMs)}`
  const more = allowed ? '' : `, ${when}`
  const left = unaskedText(unasked)
  const after = allowed ? ' after it' : ''
  return [
    first,
    `policy ${policy}: ${remaining} of ${limit} left${after}${more}`,
    ...(left ? [`not considered${left}`] : []),
  ]
}

/** That the caller is locked out, or past a limit where nothing denies it; else empty. */
function aboutDecision({ configuration }: Subject, { observed, policies, lockedOut, policy }: Decision): string {
  if (lockedOut) return `: policy ${policy} locks it out`
  if (!observed) return ''
  const past = Object.keys(policies).filter((name) => policies[name]!.exceeded === 'observe')
  const why =
    configuration.policies.settings.mode === 'observe'
      ? 'limits only observe'
      : past.length === 1
        ? 'that policy only observes'
        : 'these policies only observe'
  return `, although it is over the limit of ${past.join(', ')}: ${why}`
}

/** What becomes of a request that is not held to limits. */
function whyOf({ entry }: Subject, { context: { reason, detail }, trace }: Verdict): string {
  const uncounted =
    trace.configuration?.policies.settings.mode === 'off'
      ? 'limits are off'
      : trace.plan && trace.plan.groups.length > 0
        ? 'its route costs nothing'
        : 'no policy is for it'
  const why: Readonly<Partial<Record<typeof reason, string>>> = {
    blocked: `, it is blocked${entry ? ` by ${entryText(entry)}` : ''}`,
    unauthorized: ' with 401',
    exempt: ` without counting, because it is on the allow list${entry ? `: ${entryText(entry)}` : ''}`,
    uncounted: ` without counting, because ${uncounted}`,
  }
  return why[reason] ?? ` (${reason}): ${detail}`
}

/** `: per-address (by ip), …`; empty where all policies were asked. */
function unaskedText(unasked: Verdict['unasked']): string {
  const reasons = unasked.map(
    ({ who, policies }) => `${policies.map(({ name }) => name).join(', ')} (by ${who.join(', ')})`,
  )
  return reasons.length === 0 ? '' : `: ${reasons.join(', ')}, because these values of the request are unknown`
}
