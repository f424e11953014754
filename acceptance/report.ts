import type { Account } from './account'
import type { Row } from './check'

/** One line, as a cell of a table in Markdown can hold it. */
const cell = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll(/[<>`*_]/g, (sign) => `\\${sign}`)

const didOf = ({ finding }: Row): string => ('did' in finding ? finding.did : '—')
const verdictOf = ({ finding }: Row): string =>
  'because' in finding ? `could not be told: ${finding.because}` : finding.verdict

/** The table, in Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => [row.check.asks, row.check.expects, didOf(row), verdictOf(row)].map(cell).join(' | '))
  return [
    '| check | what the code expects | what AWS did | verdict |',
    '| --- | --- | --- | --- |',
    ...lines.map((line) => `| ${line} |`),
  ].join('\n')
}

/** How many rows have which verdict, in a sentence. */
export function summaryOf(rows: readonly Row[]): string {
  const counted = (['as expected', 'differs', 'could not be told'] as const).map(
    (verdict) => `${rows.filter(({ finding }) => finding.verdict === verdict).length} ${verdict}`,
  )
  return `${rows.length} checks: ${counted.join(', ')}`
}

/** The page that is saved. It names no account: whoever runs it may publish it. */
export function pageOf(
  rows: readonly Row[],
  { region }: Pick<Account, 'region'>,
  at: Date,
  unchecked: readonly { readonly asks: string; readonly because: string }[],
  commit: string,
): string {
  return `# What AWS did

Written by \`npm run acceptance\` ([how](testing.md#on-aws)) on ${at.toISOString().slice(0, 10)} in ${region}, at ${commit}. ${summaryOf(rows)}.

${tableOf(rows)}

## What was not asked

${unchecked.map(({ asks, because }) => `- ${asks}: ${because}.`).join('\n')}
`
}
