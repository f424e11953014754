import { counted, duration, limitText, type Printer } from '../../terminal/output'
import { unjudgedIn } from '../gates'
import type { PolicySummary, SideSummary, Summary } from './summary'

const percent = (share: number): string => {
  const number = share * 100
  return `${number > 0 && number < 0.1 ? '< 0.1' : number.toFixed(number >= 10 || number === 0 ? 0 : 1)} %`
}

const number = (count: number): string => count.toLocaleString('en-US')
/** `6,000 per 1m`. */
export const policyLimit = ({ limit, window }: Pick<PolicySummary, 'limit' | 'window'>): string =>
  limitText(number(limit), window)

const second = (at: string): string => at.replace(/\.000Z$/, 'Z')

/** Prints a report for people. */
export function printSummary(summary: Summary, print: Printer, top: number): void {
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
  print.line(askedText(summary))
  print.line()
  printPolicies(summary, print)
  printRoutes(summary, print, top)
  printClients(summary, print, top)
  printNearest(summary, print, top)
  printSuggestions(summary, print)
  printCost(summary, print)
  if (summary.unreadable > 0) {
    print.line(`${counted(summary.unreadable, 'line')} cannot be read, for example`)
    for (const { file, line, why, text } of summary.unreadableLines) print.line(`  ${file}:${line}: ${why}: ${text}`)
    print.line()
  }
  for (const note of summary.notes) print.line(`Note: ${note}.`)
  if (summary.notes.length > 0) print.line()
  print.line('Not known from a log:')
  for (const sentence of summary.cannotKnow) print.line(`- ${sentence}`)
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

function printPolicies({ policies, against }: Summary, print: Printer): void {
  const before = new Map(against?.policies.map((one) => [`${one.tier}\n${one.policy}`, one]))
  const rows = policies.map((one) => {
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
  if (rows.length > 0) print.table(head, rows)
  print.line()
}

function printRoutes({ routes }: Summary, print: Printer, top: number): void {
  if (routes.length < 2) return
  print.table(
    ['route', 'allowed', 'denied'],
    routes
      .slice(0, top)
      .map(({ route, allowed, denied }) => [route === '*' ? '* (all others)' : route, number(allowed), number(denied)]),
  )
  print.line()
}

function printClients({ clients, clientCount }: Summary, print: Printer, top: number): void {
  const hit = clients.filter(({ denied, refused }) => denied + refused > 0)
  if (hit.length === 0) return
  print.table(
    ['client', 'tier', 'requests', 'denied', 'first denied', 'by'],
    hit
      .slice(0, top)
      .map((one) => [
        one.client,
        one.tier,
        number(one.requests),
        number(one.denied),
        second(one.firstDeniedAt ?? '-'),
        one.firstDeniedBy ?? '-',
      ]),
  )
  if (hit.length > top) print.line(`… and more of ${counted(clientCount, 'client')} (--top)`)
  print.line()
}

function printChanges(summary: Summary, print: Printer, top: number): void {
  const { against, newlyDenied = [], noLongerDenied = [], changes = [], firstNewlyDeniedAt } = summary
  if (!against) return
  for (const { item, lines } of changes) print.lines([item, ...lines.map((line) => `  ${line}`)])
  if (changes.length === 0) print.line('Nothing differs between the two')
  print.line()
  print.line(
    `${counted(summary.newlyDeniedClients!, 'client')} newly denied, ${number(summary.noLongerDeniedClients!)} no longer; ${counted(summary.newlyDeniedRequests!, 'request')} newly denied, ${number(summary.noLongerDeniedRequests!)} no longer${firstNewlyDeniedAt ? `; the first at ${second(firstNewlyDeniedAt)}` : ''}`,
  )
  for (const [title, changes] of [
    ['newly denied', newlyDenied],
    ['no longer denied', noLongerDenied],
  ] as const) {
    if (changes.length === 0) continue
    print.table(
      [title, 'requests', 'first', 'by'],
      changes
        .slice(0, top)
        .map(({ client, requests, firstDeniedAt, policy }) => [
          client,
          number(requests),
          second(firstDeniedAt),
          policy,
        ]),
    )
  }
  print.line()
}

function printNearest({ nearest }: Summary, print: Printer, top: number): void {
  const near = nearest.filter(({ peak }) => peak >= 0.5).slice(0, top)
  if (near.length === 0) return
  print.table(
    ['nearest to a limit', 'tier', 'policy', 'p50', 'p95', 'peak'],
    near.map(({ subject, tier, policy, p50, p95, peak }) => [
      subject,
      tier,
      policy,
      percent(p50),
      percent(p95),
      percent(peak),
    ]),
  )
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

function printCost({ dynamodb, against }: Summary, print: Printer): void {
  const text = ({ writes, reads, usd }: SideSummary['dynamodb']) =>
    `${counted(writes, 'write')} and ${counted(reads, 'read')} in DynamoDB, $${usd < 0.01 ? usd.toFixed(6) : usd.toFixed(2)}`
  const before = against ? `; before, ${text(against.dynamodb)}` : ''
  print.line(`Decisions take ${text(dynamodb)} by the prices of us-east-1 of ${dynamodb.pricesRead}${before}`)
  print.line()
}
