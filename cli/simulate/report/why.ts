import { counted, limitText } from '../../terminal/output'
import type { ChangeSummary, DenialsSummary } from './comparison'
import { number } from './numbers'
import { escaped } from './plots'
import type { Summary } from './summary'
import { type Cell, secondOf } from './tables'

const WHO = escaped('client:<id>')

/** Why one client is denied, or was before. */
interface Why {
  /** The name of its place on the page. */
  readonly id: string
  readonly client: string
  readonly sentence: string
  readonly denials: readonly DenialsSummary[]
}

/** Why the clients are denied that the page names, and where it says so of each. */
export class Whys {
  private readonly all = new Map<string, Why>()

  /** @param top entries of each list. */
  constructor({ clients, newlyDenied = [], noLongerDenied = [] }: Summary, top: number) {
    const add = (one: Omit<Why, 'id'>) => {
      if (!this.all.has(one.client)) this.all.set(one.client, { ...one, id: `why-${this.all.size + 1}` })
    }
    const wasUntouched = new Set(newlyDenied.map(({ client }) => client))
    for (const { client, denied, requests, denials } of clients.filter((one) => one.denied > 0).slice(0, top)) {
      const before = wasUntouched.has(client) ? '; none was before' : ''
      add({ client, sentence: `${number(denied)} of ${counted(requests, 'request')} denied${before}`, denials })
    }
    for (const one of newlyDenied.slice(0, top)) add(changed(one, 'newly denied; none was before'))
    for (const one of noLongerDenied.slice(0, top)) add(changed(one, 'denied before; none is now'))
  }

  /** The name, as a link to why where the page says it. */
  link(client: string): string {
    const why = this.all.get(client)
    return why ? `<a href="#${why.id}">${escaped(client)}</a>` : escaped(client)
  }

  cell(client: string): Cell {
    return { html: this.link(client), sort: client }
  }

  html(): string {
    if (this.all.size === 0) return ''
    const clients = [...this.all.values()].map(
      ({ id, client, sentence, denials }) =>
        `<article id="${id}" tabindex="-1"><h3>${escaped(client)}</h3><p>${escaped(sentence)}${denials.length === 0 ? '.' : ':'}</p><ul>${denials.map((one) => `<li>${escaped(denialText(one))}</li>`).join('')}</ul></article>`,
    )
    return `<h2 id="why">Why, client by client</h2><p class="soft">What a client has left now: <code>npx sluice usage ${WHO}</code></p>${clients.join('')}`
  }
}

const changed = ({ client, requests, policy, denials }: ChangeSummary, how: string): Omit<Why, 'id'> => ({
  client,
  sentence: `${counted(requests, 'request')} ${how}${denials.length === 0 ? `: ${policy}` : ''}`,
  denials,
})

/** `257 by per-minute (30 per 1m), from 2026-11-25 09:00:45 to 09:29:58`. */
function denialText({ policy, limit, window, requests, firstAt, lastAt }: DenialsSummary): string {
  const [first, last] = [secondOf(firstAt), secondOf(lastAt)]
  const isOneDay = first.slice(0, 10) === last.slice(0, 10)
  const times = first === last ? `at ${first}` : `from ${first} to ${isOneDay ? last.slice(11) : last}`
  return `${number(requests)} by ${policy} (${limitText(number(limit), window ?? undefined)}), ${times}`
}
