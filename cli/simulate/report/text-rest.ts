import { counted, type Printer } from '../../terminal/output'
import { number, percent } from './numbers'
import type { SideSummary, Summary } from './summary'

/** Prints what a report has beside what was denied and why. */
export function printRest(summary: Summary, print: Printer, top: number): void {
  printRoutes(summary, print, top)
  printNearest(summary, print, top)
  printCost(summary, print)
  print.line('Not known from a log:')
  for (const sentence of summary.cannotKnow) print.line(`- ${sentence}`)
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

function printCost({ dynamodb, against }: Summary, print: Printer): void {
  const text = ({ writes, reads, usd }: SideSummary['dynamodb']) =>
    `${counted(writes, 'write')} and ${counted(reads, 'read')} in DynamoDB, $${usd < 0.01 ? usd.toFixed(6) : usd.toFixed(2)}`
  const before = against ? `; before, ${text(against.dynamodb)}` : ''
  print.line(`Decisions take ${text(dynamodb)} by the prices of us-east-1 of ${dynamodb.pricesRead}${before}`)
  print.line()
}
