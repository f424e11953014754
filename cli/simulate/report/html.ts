import { unjudgedIn } from '../gates'
import { escaped, nearnessPlot, timePlot } from './plots'
import type { SideSummary, Summary } from './summary'
import { askedText, policyLimit, tierText } from './text'

const STYLE = `
:root { color-scheme: light dark; --line: #8886; --allowed: #2a78b8; --denied: #d2432e; --before: #8a8f98 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: 0 } h2 { font-size: 1.15rem; margin-top: 2.5rem } h3 { font-size: 1rem; margin-bottom: .25rem }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
svg { width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: currentColor } svg line { stroke: var(--line) }
.allowed { fill: var(--allowed) } .denied { fill: var(--denied) } .before { fill: var(--before) }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em } .key.allowed { background: var(--allowed) }
.key.denied { background: var(--denied) } .key.before { background: var(--before) } .big { font-size: 1.1rem } small { opacity: .75 }
`

/** The report as one page that fetches nothing: no script, no image, no font from anywhere. */
export function toHtml(summary: Summary, top: number): string {
  const { against, from, to, source } = summary
  const title = `What ${summary.rules} makes of ${source}`
  const unjudged = unjudgedIn(summary)
  const times = [Date.parse(from), Date.parse(to)] as const
  const sides = against ? [summary, against] : [summary]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body>
<h1>${escaped(title)}</h1>
<p><small>${number(summary.requests)} requests of ${number(summary.clientCount)} clients, ${escaped(from)} to ${escaped(to)}</small></p>
${unjudged === 0 ? '' : `<p class="big">${number(unjudged)} of ${number(summary.requests + summary.unreadable)} lines cannot be read or understood, so nothing is known of them.</p>`}
<p><small>${escaped(askedText(summary))}.</small></p>
${table(['rules', '#allowed', '#denied', '#denied %', '#not decided by a limit', '#DynamoDB, $'], sides.map(sideRow))}
${against ? `<p class="big">${number(summary.newlyDeniedClients!)} clients newly denied, ${number(summary.noLongerDeniedClients!)} no longer; ${number(summary.newlyDeniedRequests!)} requests newly denied, ${number(summary.noLongerDeniedRequests!)} no longer.</p>` : ''}
<h2>Requests over time</h2>
<p><span class="key allowed"></span>allowed<span class="key denied"></span>denied</p>
${sides.map((side) => `<h3>${escaped(side.rules)}</h3>${timePlot(side, ...times)}`).join('\n')}
<h2>Policies</h2>
${table(
  ['tier', 'policy', 'limit', '#allowed', '#denied', ...(against ? ['#denied before'] : []), '#met by', '#of'],
  summary.policies.map((one) => [
    one.tier,
    one.policy,
    policyLimit(one),
    number(one.allowed),
    number(one.denied),
    ...(against ? [number(beforeOf(against, one)?.denied ?? 0)] : []),
    number(one.met),
    number(one.subjects),
  ]),
)}
<h2>How near clients came to each limit</h2>
${against ? '<p><span class="key before"></span>before<span class="key allowed"></span>now<span class="key denied"></span>met it</p>' : ''}
${summary.policies
  .map(
    (one) => `<h3>${escaped(`${one.tier} ${one.policy}`)}</h3>${nearnessPlot(one, against && beforeOf(against, one))}`,
  )
  .join('\n')}
${changes('Newly denied', summary.newlyDenied, top)}
${changes('No longer denied', summary.noLongerDenied, top)}
${section(
  'Clients denied most',
  ['client', 'tier', '#requests', '#denied', 'first denied', 'by'],
  summary.clients
    .filter(({ denied }) => denied > 0)
    .slice(0, top)
    .map((one) => [
      one.client,
      one.tier,
      number(one.requests),
      number(one.denied),
      one.firstDeniedAt ?? '',
      one.firstDeniedBy ?? '',
    ]),
)}
${section(
  'Nearest to a limit',
  ['subject', 'tier', 'policy', '#p50', '#p95', '#peak'],
  summary.nearest
    .slice(0, top)
    .map((one) => [one.subject, one.tier, one.policy, percent(one.p50), percent(one.p95), percent(one.peak)]),
)}
${section(
  'Limits that at most 0.1 % would meet',
  ['tier', 'policy', '#limit', '#suggested', '#met by', '#of'],
  (summary.suggestions ?? []).map((one) => [
    tierText(one.tier),
    one.policy,
    number(one.limit),
    one.suggested === null ? 'none found' : number(one.suggested),
    number(one.met),
    number(one.subjects),
  ]),
)}
${section(
  'Routes',
  ['route', '#allowed', '#denied'],
  summary.routes.slice(0, top).map(({ route, allowed, denied }) => [route, number(allowed), number(denied)]),
)}
${section(
  `${number(summary.unreadable)} lines cannot be read`,
  ['line', 'why', 'text'],
  summary.unreadableLines.map(({ file, line, why, text }) => [`${file}:${line}`, why, text]),
)}
${list('Notes', summary.notes)}
${list('Not known from a log', summary.cannotKnow)}
</body></html>
`
}

const number = (count: number): string => count.toLocaleString('en-US')
const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`

const beforeOf = ({ policies }: SideSummary, one: { readonly tier: string; readonly policy: string }) =>
  policies.find(({ tier, policy }) => tier === one.tier && policy === one.policy)

const sideRow = ({ rules, allowed, denied, deniedShare, undecided, dynamodb }: SideSummary): string[] => [
  rules,
  number(allowed),
  number(denied),
  percent(deniedShare),
  Object.entries(undecided)
    .map(([reason, count]) => `${number(count)} ${reason}`)
    .join(', ') || '0',
  dynamodb.usd < 0.01 ? dynamodb.usd.toFixed(6) : dynamodb.usd.toFixed(2),
]

const changes = (title: string, all: Summary['newlyDenied'], top: number): string =>
  section(
    title,
    ['client', '#requests', 'first', 'by'],
    (all ?? []).slice(0, top).map((one) => [one.client, number(one.requests), one.firstDeniedAt, one.policy]),
  )

/** A table under a heading, or nothing where it has no row. */
const section = (title: string, head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0 ? '' : `<h2>${escaped(title)}</h2>${table(head, rows)}`

/** Columns whose heading begins with `#` are numbers. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumber = head.map((one) => one.startsWith('#'))
  const cells = (tag: string, texts: readonly string[]) =>
    texts.map((text, i) => `<${tag}${isNumber[i] ? ' class="n"' : ''}>${escaped(text)}</${tag}>`).join('')
  const names = head.map((one) => one.replace(/^#/, ''))
  return `<table><tr>${cells('th', names)}</tr>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('')}</table>`
}

const list = (title: string, sentences: readonly string[]): string =>
  sentences.length === 0
    ? ''
    : `<h2>${escaped(title)}</h2><ul>${sentences.map((one) => `<li>${escaped(one)}</li>`).join('')}</ul>`
