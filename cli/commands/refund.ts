import { costsByName, gather, instant, wholeNumber } from '../arguments'
import { tell } from '../callers/client-changes'
import { planOf } from '../callers/counted'
import { checkPoliciesKnown } from '../callers/hashed-subject'
import { hint } from '../callers/hints'
import { type AboutSubject, calledOf, nameOf, noPolicies, openSubject, withSubject } from '../callers/limits'
import { checkCosts } from '../callers/named-costs'
import type { Subject } from '../callers/subjects'
import { type AddCommand, describeTableCommand } from '../command'
import { EXIT, failureOf, linesOf, ServiceError, UserError } from '../exit'
import { RefundRecorder } from '../facade/counters'
import { type CompiledPolicy, costNames, takenFrom, type Units } from '../facade/decisions'
import { type EpochMs, printed } from '../facade/values'
import { counted } from '../terminal/output'

interface Options extends AboutSubject {
  readonly route?: string
  readonly costs?: Readonly<Record<string, number>>
  readonly policy?: readonly string[]
  readonly chargedAt?: EpochMs
  readonly delayMs?: number
}

export const addRefund: AddCommand = (group, session) => {
  withSubject(
    describeTableCommand(group, 'refund', 'Return units to a caller’s limits, while their windows are open.', [
      'sluice refund acme 10',
      'sluice refund acme 1 --policy per-day',
      'sluice refund acme 0 --costs tokens=380',
      'sluice refund acme 1 --charged-at 2026-11-21T17:05:00Z',
    ]),
  )
    .argument('<units>', 'number of units; 0 with --costs alone', wholeNumber(0))
    .option('--route <request>', 'method and path (default: no configured route)')
    .option('--charged-at <moment>', 'when they were charged, in ISO 8601; later charges stay (default: now)', instant)
    .option('--delay-ms <ms>', 'how long the request was delayed, for policies with action "delay"', wholeNumber(0))
    .option(
      '--costs <name=units>',
      'units by the name of a cost; repeatable (default: 1 each, or none with 0 units)',
      costsByName,
    )
    .option('--policy <name>', 'only this policy; repeatable (default: all)', gather)
    .action(async (text: string, units: number, options: Options) => {
      const given: Units = { cost: units, costs: options.costs }
      let recorder: RefundRecorder | undefined
      const opened = await openSubject(session, text, options, (store) => (recorder = new RefundRecorder(store)))
      const { subject, limiter } = opened
      checkPoliciesKnown(subject)
      const charges = chosen(subject, options)
      checkUnits(
        given,
        charges.flatMap(({ policies }) => policies),
        subject,
      )
      const now = session.io.clock()
      const returned: Returned[] = []
      await session.io.interrupts
        .during(async () => {
          for (const { name, policies } of charges) {
            const key = subject.stateKeys.keyOfCharge(name, options.chargedAt ?? now)
            try {
              await limiter.refund({ key, policies, ...given }, options)
            } finally {
              for (const one of policies.filter((policy) => takenFrom(given, policy) > 0))
                returned.push({ policy: one.name, asked: takenFrom(given, one), units: recorder!.unitsOf(key, one) })
            }
          }
        })
        .catch((error) => {
          const { code } = failureOf(error)
          const some = returned.some((one) => one.units > 0)
          throw some ? new (code === EXIT.mistake ? UserError : ServiceError)([...linesOf(error), sentence()]) : error
        })
      tell(session, options, sentence(), {
        subject: calledOf(subject),
        units,
        ...(options.costs && { costs: options.costs }),
        policies: returned.map(({ policy }) => policy),
        returned: returned.map(({ policy, units }) => ({ policy, units })),
      })

      function sentence(): string {
        return `${nameOf(subject)}: ${returnedText(returned)}`
      }
    })
}

/** What a policy got back. */
interface Returned {
  readonly policy: string
  readonly asked: number
  readonly units: number
}

/** Throws where nothing is to be returned, or where it is not said of what a policy counts. */
function checkUnits(given: Units, policies: readonly CompiledPolicy[], subject: Subject): void {
  checkCosts(given.costs, policies, nameOf(subject))
  const [counted] = costNames(policies)
  if (!given.costs && counted !== undefined && policies.every(({ costName }) => costName !== undefined))
    throw new UserError(
      `${namesOf(policies)} counts ${counted} and not requests: say how many with --costs ${counted}=${given.cost}`,
    )
  if (policies.every((policy) => takenFrom(given, policy) === 0))
    throw new UserError(`nothing to return to ${namesOf(policies)}: the units must be 1 or more`)
}

const namesOf = (policies: readonly { readonly name: string }[]): string => policies.map(({ name }) => name).join(', ')

/** The policies that are meant, by whose state they are in. */
function chosen(subject: Subject, { route, policy }: Options) {
  const { charges } = planOf(subject, route)
  const known = charges.flatMap(({ policies }) => policies.map(({ name }) => name))
  if (known.length === 0) throw noPolicies(subject, ' there')
  const unknown = policy?.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new UserError(`${nameOf(subject)} has no policy ${printed(unknown)} there${hint(unknown, known)}`)
  const meant = charges
    .map((charge) => ({ ...charge, policies: charge.policies.filter(({ name }) => policy?.includes(name) ?? true) }))
    .map((charge) => ({ ...charge, policies: charge.policies.filter(({ counter }) => !counter.isEndedByOthers) }))
    .filter(({ policies }) => policies.length > 0)
  if (meant.length === 0)
    throw new UserError(
      `${(policy ?? known).join(', ')} counts running requests, which have no units: sluice reset frees them`,
    )
  return meant
}

/** `5 units returned to per-minute, per-day`; where they differ, how many to each. */
function returnedText(returned: readonly Returned[]): string {
  const names = returned.map(({ policy }) => policy).join(', ')
  if (returned.every(({ units }) => units === 0))
    return `nothing returned: no units charged then are left in a window that still counts, in ${names}`
  const [{ asked: first }] = returned as [Returned]
  if (returned.every(({ asked, units }) => asked === first && units === asked))
    return `${counted(first, 'unit')} returned to ${names}`
  const textOf = ({ policy, asked, units }: Returned) => {
    if (units === 0) return `nothing returned to ${policy}`
    return `${units === asked ? '' : `${rounded(units)} of `}${counted(asked, 'unit')} returned to ${policy}`
  }
  return returned.map(textOf).join(', ')
}

/** Time gives back parts of units. */
const rounded = (units: number): number => Math.round(units * 100) / 100
