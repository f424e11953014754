import { counted } from '../../terminal/output'
import { unjudgedIn } from '../gates'
import type { ItemChange } from './comparison'
import { number } from './numbers'
import { escaped } from './plots'
import type { Summary } from './summary'
import { percent, secondOf } from './tables'
import { askedText } from './text'
import type { Whys } from './why'

/** Of what changed, so many lines, and of clients so many names. */
const MAX_LINES = 8
const MAX_NAMES = 5

/** What comes of the rules, in a sentence. */
export function headline({ against, requests, denied, deniedShare, ...summary }: Summary): string {
  if (!against) return `${counted(denied, 'request')} of ${number(requests)} denied (${percent(deniedShare)})`
  const { newlyDeniedClients = 0, newlyDeniedRequests = 0 } = summary
  if (newlyDeniedClients > 0) return `${counted(newlyDeniedClients, 'client')} newly denied`
  return `No client newly denied${newlyDeniedRequests > 0 ? `, but ${counted(newlyDeniedRequests, 'request')} more` : ''}`
}

/** What changes, for whom and from when: what a reader wants to know first. */
export function firstScreen(summary: Summary, whys: Whys): string {
  const { rules, against, requests, clientCount, source, from, to, unreadable } = summary
  const unjudged = unjudgedIn(summary)
  const compared = against ? ` instead of ${against.rules}` : ''
  return `<header>
<h1>${escaped(headline(summary))}</h1>
<p class="soft">${escaped(`${rules}${compared}, on ${counted(requests, 'request')} of ${counted(clientCount, 'client')} in ${source}, ${secondOf(from)} to ${secondOf(to)} UTC`)}</p>
${unjudged === 0 ? '' : `<p class="bad">${number(unjudged)} of ${number(requests + unreadable)} lines cannot be read or understood, so nothing is known of ${unjudged === 1 ? 'it' : 'them'}.</p>`}
<div class="answers">
${answer('What changed', against ? changesHtml(summary.changes ?? []) : `<p>Nothing is compared (--against): all limits are those of ${escaped(rules)}.</p>`)}
${answer('For whom', against ? changedFor(summary, whys) : deniedFor(summary, whys))}
${answer('From when', since(summary))}
</div>
<p><small>${escaped(askedText(summary))}.</small></p>
</header>`
}

const answer = (title: string, html: string): string => `<section><h2>${title}</h2>${html}</section>`

function changesHtml(changes: readonly ItemChange[]): string {
  if (changes.length === 0) return '<p>Nothing: the two are the same.</p>'
  const lines = changes.flatMap(({ item, lines }) => [
    `<li>${escaped(item)}</li>`,
    ...lines.map((line) => `<li><code class="${line.startsWith('+') ? 'in' : 'out'}">${escaped(line)}</code></li>`),
  ])
  const more = lines.length - MAX_LINES
  const rest = more > 1 ? `<details><summary>${counted(more, 'more line')}</summary><ul>` : ''
  const shown = more > 1 ? MAX_LINES : lines.length
  return `<ul>${lines.slice(0, shown).join('')}</ul>${rest && `${rest}${lines.slice(shown).join('')}</ul></details>`}`
}

function changedFor(summary: Summary, whys: Whys): string {
  const { clientCount, newlyDenied = [], newlyDeniedClients = 0, noLongerDeniedClients = 0 } = summary
  const { newlyDeniedRequests = 0, noLongerDeniedRequests = 0 } = summary
  return `<p><span class="big">${number(newlyDeniedClients)}</span> of ${counted(clientCount, 'client')} newly denied, ${number(noLongerDeniedClients)} no longer</p>
${names(newlyDenied, newlyDeniedClients, whys)}
<p class="soft">${counted(newlyDeniedRequests, 'request')} newly denied, ${number(noLongerDeniedRequests)} no longer</p>`
}

function deniedFor({ clients, clientCount, deniedClients }: Summary, whys: Whys): string {
  const hit = clients.filter(({ denied }) => denied > 0)
  return `<p><span class="big">${number(deniedClients)}</span> of ${counted(clientCount, 'client')} denied</p>${names(hit, deniedClients, whys)}`
}

/** The first clients, each a link to why. */
function names(clients: readonly { readonly client: string }[], count: number, whys: Whys): string {
  if (clients.length === 0) return ''
  const shown = clients.slice(0, MAX_NAMES).map(({ client }) => `<li>${whys.link(client)}</li>`)
  const more = count - shown.length
  return `<ul>${shown.join('')}${more > 0 ? `<li><a href="#clients">and ${counted(more, 'other')}</a></li>` : ''}</ul>`
}

function since({ against, from, firstDeniedAt, firstNewlyDeniedAt }: Summary): string {
  const first = against ? (firstNewlyDeniedAt ?? null) : firstDeniedAt
  if (first === null) return `<p>No request is ${against ? 'newly ' : ''}denied.</p>`
  const seconds = Math.floor((Date.parse(first) - Date.parse(from)) / 1000)
  const after = seconds === 0 ? 'in the first second' : `${counted(seconds, 'second')} after the first request`
  return `<p><time class="big" datetime="${first}" title="${first}">${secondOf(first).slice(11)}</time> UTC, ${first.slice(0, 10)}</p><p class="soft">${after}</p>`
}
