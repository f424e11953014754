import { counted, duration, limitText, type Printer } from '../../terminal/output'
import { unjudgedIn } from '../gates'
import type { DenialsSummary } from './comparison'
import { number, percent } from './numbers'
import type { PolicySummary, SideSummary, Summary } from './summary'
import { printRest } from './text-rest'

/** `6,000 per 1m`. */
export const policyLimit = ({ limit, window }: Pick<PolicySummary, 'limit' | 'window'>): string =>
  limitText(number(limit), window)

const second = (at: string): string => at.replace(/\.000Z$/, 'Z')

/** What of a report is for people. */
export interface Shown {
  /** Entries of each list. */
  readonly top: number
  /** Whether more is printed than what was denied and why. */
  readonly all: boolean
}

/** Prints a report for people: what changed and was denied, for whom and why, and with `all` the rest. */
export function printSummary(summary: Summary, print: Printer, { top, all }: Shown): void {
  const { against, source, from, to } = summary
  const length = duration(Math.max(1000, Date.parse(to) - Date.parse(from)))
  print.line(
    `${counted(summary.requests, 'request')} of ${counted(summary.clientCount, 'client')} in ${source}, ${length} from ${from}`,
  )
  const unjudged = unjudgedIn(summary)
  if (unjudged > 0)
    print.line(
      print.style(
        'red',
        `${number(unjudged)} of ${number(summary.requests + summary.unreadable)} lines cannot be read or understood, so nothing is known of ${unjudged === 1 ? 'it' : 'them'}`,
      ),
    )
  print.line()
  for (const side of against ? [summary, against] : [summary]) printSide(side, print)
  print.line()
  printChanges(summary, print, top)
  if (all || !summary.newlyDenied?.length) printClients(summary, print, top)
  printPolicies(summary, print, all)
  printSuggestions(summary, print)
  if (all) printRest(summary, print, top)
  if (summary.unreadable > 0) {
    print.line(`${counted(summary.unreadable, 'line')} cannot be read, for example`)
    for (const { file, line, why, text } of summary.unreadableLines) print.line(`  ${file}:${line}: ${why}: ${text}`)
    print.line()
  }
  for (const note of summary.notes) print.line(`Note: ${note}.`)
  print.line(`${askedText(summary)}.`)
  if (!all)
    print.line('--all adds the other limits, routes, who is nearest to a limit, the cost, and what no log tells.')
}

/** Whose overrides and blocks counted. */
export function askedText({ asked: { table, clients, overridden, blocks, allowances } }: Summary): string {
  if (table === null)
    return 'No config table was asked (--table, --stack or --endpoint names one): overrides, blocks and disabled clients do not count'
  return `Of ${table}: ${counted(clients, 'client')}, ${number(overridden)} with overrides, ${counted(blocks, 'block')} and ${counted(allowances, 'allowance')} count`
}

function printSide({ rules, allowed, denied, deniedShare, undecided }: SideSummary, print: Printer): void {
  const others = Object.entries(undecided).map(([reason, count]) => `, ${number(count)} ${reason}`)
  const text = `${number(denied)} denied (${percent(deniedShare)})`
  print.line(`${rules}: ${number(allowed)} allowed, ${denied > 0 ? print.style('red', text) : text}${others.join('')}`)
}

function printPolicies({ policies, against }: Summary, print: Printer, all: boolean): void {
  const before = new Map(against?.policies.map((one) => [`${one.tier}\n${one.policy}`, one]))
  const shown = policies.filter((one) => {
    const past = one.denied + one.observed + one.deprioritized + one.overrun + one.delayed + one.lockedOut
    return all || past + (before.get(`${one.tier}\n${one.policy}`)?.denied ?? 0) > 0
  })
  shown.sort((a, b) => b.denied - a.denied)
  const rows = shown.map((one) => {
    const past = [
      [one.observed, 'only observed'],
      [one.deprioritized, 'at low priority'],
      [one.overrun, 'in the overrun'],
      [one.delayed, 'delayed'],
      [one.lockedOut, 'locked out'],
      [one.byShare, 'by share'],
    ].flatMap(([count, what]) => ((count as number) > 0 ? `${number(count as number)} ${what}` : []))
    return [
      one.tier || '(preflights)',
      one.policy,
      policyLimit(one),
      number(one.allowed),
      number(one.denied),
      ...(against ? [number(before.get(`${one.tier}\n${one.policy}`)?.denied ?? 0)] : []),
      `${number(one.met)} of ${number(one.subjects)}`,
      `${percent(one.near.p50)}, ${percent(one.near.p95)}, ${percent(one.near.peak)}`,
      past.join(', '),
    ]
  })
  const head = [
    'tier',
    'policy',
    'limit',
    'allowed',
    'denied',
    ...(against ? ['before'] : []),
    'met it',
    'peaks: p50, p95, max',
    '',
  ]
  if (rows.length === 0) return
  print.table(head, rows)
  print.line()
}

function printClients({ clients, deniedClients }: Summary, print: Printer, top: number): void {
  const shown = clients.filter(({ denied, refused }) => denied + refused > 0).slice(0, top)
  if (shown.length === 0) return
  print.table(
    ['client', 'tier', 'requests', 'denied', 'first denied', 'by'],
    shown.map((one) => [
      one.client,
      one.tier,
      number(one.requests),
      number(one.denied),
      second(one.firstDeniedAt ?? '-'),
      [...(one.denials.length > 0 ? [byText(one.denials)] : []), ...refusedText(one)].join(', '),
    ]),
  )
  const more = deniedClients - shown.filter(({ denied }) => denied > 0).length
  if (more > 0) print.line(`… and ${number(more)} more (--top)`)
  print.line()
}

/** `per-minute`; of several policies how many requests each denied, in the order of the first of each. */
const byText = (denials: readonly DenialsSummary[]): string =>
  denials.map(({ policy, requests }) => (denials.length === 1 ? policy : `${policy} ${number(requests)}`)).join(', ')

/** Of requests that are not let in whatever the limits are. */
const refusedText = ({ refused }: { readonly refused: number }): string[] =>
  refused > 0 ? [`${number(refused)} refused`] : []

function printChanges(summary: Summary, print: Printer, top: number): void {
  const { against, newlyDenied = [], noLongerDenied = [], changes = [], firstNewlyDeniedAt } = summary
  if (!against) return
  for (const { item, lines } of changes) print.lines([item, ...lines.map((line) => `  ${line}`)])
  if (changes.length === 0) print.line('Nothing differs between the two')
  print.line()
  print.line(
    `${counted(summary.newlyDeniedClients!, 'client')} newly denied, ${number(summary.noLongerDeniedClients!)} no longer; ${counted(summary.newlyDeniedRequests!, 'request')} newly denied, ${number(summary.noLongerDeniedRequests!)} no longer${firstNewlyDeniedAt ? `; the first at ${second(firstNewlyDeniedAt)}` : ''}`,
  )
  for (const [title, clients, count] of [
    ['newly denied', newlyDenied, summary.newlyDeniedClients!],
    ['no longer denied', noLongerDenied, summary.noLongerDeniedClients!],
  ] as const) {
    if (clients.length === 0) continue
    const shown = clients.slice(0, top)
    print.table(
      [title, 'requests', 'first', 'by'],
      shown.map(({ client, requests, firstDeniedAt, policy, denials }) => [
        client,
        number(requests),
        second(firstDeniedAt),
        denials.length > 0 ? byText(denials) : policy,
      ]),
    )
    if (count > shown.length) print.line(`… and ${number(count - shown.length)} more (--top)`)
  }
  print.line()
}

/** Whose a policy is. */
export const tierText = (tier: string | null): string => tier ?? '(all)'

function printSuggestions({ suggestions }: Summary, print: Printer): void {
  if (!suggestions) return
  print.line('The lowest limits that at most 0.1 % of callers would have reached:')
  print.table(
    ['tier', 'policy', 'limit', 'suggested', 'would meet it'],
    suggestions.map(({ tier, policy, limit, suggested, met, subjects }) => [
      tierText(tier),
      policy,
      number(limit),
      suggested === null ? 'none found' : number(suggested),
      `${number(met)} of ${number(subjects)}`,
    ]),
  )
  print.line()
}
