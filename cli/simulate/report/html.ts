import { counted } from '../../terminal/output'
import { firstScreen, headline } from './first-screen'
import { number } from './numbers'
import { escaped, nearnessPlot, timePlots } from './plots'
import { STYLE } from './style'
import type { SideSummary, Summary } from './summary'
import { type Cell, count, SORT_SCRIPT, SORT_SCRIPT_HASH, share, table, time } from './tables'
import { policyLimit, tierText } from './text'
import { Whys } from './why'

/** The report as one page that fetches nothing: no image, no font from anywhere, and one script, which sorts tables. */
export function toHtml(summary: Summary, top: number): string {
  const { against, from, to } = summary
  const sides = against ? [summary, against] : [summary]
  const plots = timePlots(sides, Date.parse(from), Date.parse(to))
  const whys = new Whys(summary, top)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src '${SORT_SCRIPT_HASH}'">
<title>${escaped(`${headline(summary)}: ${summary.rules}`)}</title><style>${STYLE}</style></head><body>
${firstScreen(summary, whys)}
<main>
${table('Both sets of rules', ['rules', '#allowed', '#denied', '#denied %', 'not decided by a limit', '#DynamoDB, $'], sides.map(sideRow))}
<h2 id="clients">Clients</h2>
${changes('Newly denied', summary.newlyDenied, summary.newlyDeniedClients, top, whys)}
${changes('No longer denied', summary.noLongerDenied, summary.noLongerDeniedClients, top, whys)}
${part(
  'Denied most',
  ['client', 'tier', '#requests', '#denied', 'first denied', 'by'],
  summary.clients
    .filter(({ denied }) => denied > 0)
    .slice(0, top)
    .map((one) => [
      whys.cell(one.client),
      one.tier,
      count(one.requests),
      count(one.denied),
      time(one.firstDeniedAt),
      one.firstDeniedBy ?? '',
    ]),
  summary.deniedClients,
)}
<h2>Requests over time</h2>
<p><span class="key allowed"></span>allowed<span class="key denied"></span>denied</p>
${sides.map(({ rules }, i) => `<h3>${escaped(rules)}</h3>${plots[i]}`).join('\n')}
<h2>Policies</h2>
${policiesTable(summary)}
<h2>How near clients came to each limit</h2>
<p>Subjects by the most that they used, in percent of the limit.${against ? ' <span class="key before"></span>before<span class="key allowed"></span>now<span class="key denied"></span>met it' : ''}</p>
<div class="plots">${summary.policies
    .map(
      (one) =>
        `<section><h3>${escaped(`${one.tier} ${one.policy}`)}</h3>${nearnessPlot(one, against && beforeOf(against, one))}</section>`,
    )
    .join('\n')}</div>
${section(
  'Nearest to a limit',
  ['subject', 'tier', 'policy', '#p50', '#p95', '#peak'],
  summary.nearest
    .slice(0, top)
    .map((one) => [whys.cell(one.subject), one.tier, one.policy, share(one.p50), share(one.p95), share(one.peak)]),
)}
${section(
  'Limits that at most 0.1 % would meet',
  ['tier', 'policy', '#limit', '#suggested', '#met by', '#of'],
  (summary.suggestions ?? []).map((one) => [
    tierText(one.tier),
    one.policy,
    count(one.limit),
    one.suggested === null ? { html: 'none found', sort: Infinity } : count(one.suggested),
    count(one.met),
    count(one.subjects),
  ]),
)}
${section(
  'Routes',
  ['route', '#allowed', '#denied'],
  summary.routes.slice(0, top).map(({ route, allowed, denied }) => [route, count(allowed), count(denied)]),
)}
${whys.html()}
${section(
  `${counted(summary.unreadable, 'line')} cannot be read`,
  ['line', 'why', 'text'],
  summary.unreadableLines.map(({ file, line, why, text }) => [`${file}:${line}`, why, text]),
)}
${list('Notes', summary.notes)}
${list('Not known from a log', summary.cannotKnow)}
</main>
<script>${SORT_SCRIPT}</script>
</body></html>
`
}

function policiesTable({ policies, against }: Summary): string {
  const rows = policies.map((one): Cell[] => [
    one.tier,
    one.policy,
    { html: escaped(policyLimit(one)), sort: one.limit },
    count(one.allowed),
    count(one.denied),
    ...(against ? [count(beforeOf(against, one)?.denied ?? 0)] : []),
    count(one.met),
    count(one.subjects),
  ])
  const before = against ? ['#denied before'] : []
  return table('Policies', ['tier', 'policy', '#limit', '#allowed', '#denied', ...before, '#met by', '#of'], rows)
}
const beforeOf = ({ policies }: SideSummary, one: { readonly tier: string; readonly policy: string }) =>
  policies.find(({ tier, policy }) => tier === one.tier && policy === one.policy)

const sideRow = ({ rules, allowed, denied, deniedShare, undecided, dynamodb }: SideSummary): Cell[] => [
  rules,
  count(allowed),
  count(denied),
  share(deniedShare),
  Object.entries(undecided)
    .map(([reason, of]) => `${number(of)} ${reason}`)
    .join(', ') || '0',
  { html: dynamodb.usd < 0.01 ? dynamodb.usd.toFixed(6) : dynamodb.usd.toFixed(2), sort: dynamodb.usd },
]

const changes = (
  title: string,
  all: Summary['newlyDenied'] = [],
  clients: number | undefined,
  top: number,
  whys: Whys,
): string =>
  part(
    title,
    ['client', '#requests', 'first', 'by'],
    all.slice(0, top).map((one) => [whys.cell(one.client), count(one.requests), time(one.firstDeniedAt), one.policy]),
    clients,
  )

type Rows = readonly (readonly Cell[])[]

/** A table under a heading, or nothing where it has no row. */
const section = (title: string, head: readonly string[], rows: Rows): string =>
  rows.length === 0 ? '' : `<h2>${escaped(title)}</h2>${table(title, head, rows)}`

/** The same of clients, with how many more there are. */
function part(title: string, head: readonly string[], rows: Rows, clients = 0): string {
  if (rows.length === 0) return ''
  const more = clients - rows.length
  const rest = more > 0 ? `<p class="soft">and ${counted(more, 'more client')} (--top)</p>` : ''
  return `<h3>${escaped(title)}</h3>${table(title, head, rows)}${rest}`
}

const list = (title: string, sentences: readonly string[]): string =>
  sentences.length === 0
    ? ''
    : `<h2>${escaped(title)}</h2><ul>${sentences.map((one) => `<li>${escaped(one)}</li>`).join('')}</ul>`
