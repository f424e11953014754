import type { Account } from './account'
import type { Line } from './bill'

const usd = (value: number): string => `$${value.toFixed(3)}`
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

/** The account as text. */
export function accountText({ traffic, decisions, goals, peers, atScale, ...account }: Account): string {
  const { clients, abusers, instances, perMinute, rps } = traffic
  const limits = `${account.policies} ${account.policies === 1 ? 'limit' : 'limits'} on each caller, the tightest ${perMinute} a minute`
  const callers = `${clients} clients at half of it${abusers > 0 ? ` and ${abusers} that never ${abusers === 1 ? 'stops' : 'stop'}` : ''}, ${instances} instances`
  const notes = [
    `Measured: ${decisions.allowed + decisions.denied} decisions of the real authorizer by a simulated clock, each call metered by the size of its items; a write whose`,
    `condition fails is billed, too. ${percent(account.denied)} were denied.`,
    `Simulated: by npm run bench:scale, the time of Lambda too.`,
    `Assumed: --lambda-ms, --lambda-ms-known, --backend-ms. Left out: cold starts, storage, logs, data transfer, free tiers.`,
  ]
  return [
    `US dollars per million decisions · prices of ${account.region}, read ${account.pricesRead}`,
    `${rps} requests/s, ${callers}, ${limits}`,
    '',
    ...columns([
      ...account.bill.map((line): string[] => [line.what, usd(line.usd), line.basis, line.amount]),
      ['DynamoDB in all', usd(account.dynamodb), 'measured', ''],
      ...account.byAbusers.map(({ abusers: count, usd: cost }) => [
        `the same, abuse by ${count} callers`,
        usd(cost),
        'measured',
        '',
      ]),
    ]),
    '',
    'DynamoDB and Lambda for other limits, at the highest rate that was simulated',
    '',
    ...columns(
      atScale.map(({ what, usd: cost, rps: rate }) => [what, usd(cost), 'simulated', `${rate.toLocaleString('en')}/s`]),
    ),
    '',
    ...(peers.length === 0 ? [] : ['What other limiters add, under the same traffic', '']),
    ...columns(
      peers.length === 0
        ? []
        : [
            ['Sluice: DynamoDB and Lambda', usd(account.dynamodb + lambdaOf(account.bill)), 'see above', ''],
            ...peers.map(({ name, how, basis, usd: cost }) => [name, usd(cost), basis, how]),
          ],
    ),
    ...(peers.length === 0 ? [] : ['']),
    'A million requests over the limit, without a limiter',
    '',
    ...columns(account.withoutLimiter.map((line) => [line.what, usd(line.usd), line.basis, line.amount])),
    '',
    ...goals.map(
      ({ what, usd: cost, goal, met }) => `${met ? '✓' : '✗'} ${what}: ${usd(cost)}, goal ≤ $${goal.atMost.toFixed(2)}`,
    ),
    '',
    ...notes,
    '',
  ].join('\n')
}

const lambdaOf = (bill: readonly Line[]): number =>
  bill.filter(({ what }) => what.startsWith('Lambda')).reduce((sum, line) => sum + line.usd, 0)

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    `  ${row.map((cell, column) => (column === 1 ? cell.padStart(widths[1]!) : cell.padEnd(widths[column]!))).join('   ')}`.trimEnd(),
  )
}
