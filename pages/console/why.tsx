import { clockText } from '../shared/time-text'
import type { LastAnswer, WithoutTable } from './protocol'

interface WhyProps {
  readonly last: LastAnswer | null
  /** Of the caller whose answer it is; `undefined` where that is not known. */
  readonly withoutTable: WithoutTable | undefined
  readonly instances: number
}

/** What became of the last request, in one sentence that somebody understands who has read nothing else. */
export function Why({ last, withoutTable, instances }: WhyProps) {
  return (
    <div class="why" role="status" aria-live="polite" data-kind={kindOf(last)}>
      <p>
        <strong>{titleOf(last)}</strong>{' '}
        {kindOf(last) === 'degraded' ? degradedText(last!, withoutTable, instances) : sentenceOf(last)}
      </p>
      {last && (
        <p class="small soft">
          {last.request}, at {clockText(last.at)}
        </p>
      )}
    </div>
  )
}

/** What decided without the table, and by which number. */
function degradedText(last: LastAnswer, withoutTable: WithoutTable | undefined, instances: number): string {
  const reason = headerOf(last, 'x-ratelimit-reason')
  const failureMode = reason === 'unavailable' ? 'deny' : last.status === 429 ? 'local' : withoutTable?.failureMode
  if (failureMode === undefined) return 'DynamoDB could not be reached, so the tier’s failure mode decided.'
  const begin = `DynamoDB could not be reached, so the tier’s failure mode decided, which is ${failureMode}:`
  if (failureMode === 'deny') return `${begin} nothing passes until DynamoDB answers again.`
  if (failureMode === 'allow') return `${begin} everything passes, uncounted.`
  const limit = Number(headerOf(last, 'x-ratelimit-limit'))
  const each = `${begin} each of the ${instances} authorizers counts in its own memory`
  if (withoutTable === undefined || !Number.isFinite(limit)) return `${each}, and admits a share of each limit.`
  const { localShare } = withoutTable
  const most = Math.max(1, Math.floor(limit * localShare))
  const percent = `${Number((localShare * 100).toFixed(2))} %`
  const share = `${each}, and admits ${percent} (localShare) of what was left, here at most ${most} of ${limit} units.`
  if (last.status < 400) return `${share} This request was within that.`
  return `${share} That share is used up. ${/Try again.*$/.exec(detailIn(last.body) ?? '')?.[0] ?? ''}`
}

function kindOf(last: LastAnswer | null): string {
  if (!last) return 'none'
  if (['degraded', 'unavailable'].includes(headerOf(last, 'x-ratelimit-reason') ?? '')) return 'degraded'
  if (last.status === 429 || last.status === 403) return 'denied'
  if (last.status < 400) return 'allowed'
  return 'failed'
}

function titleOf(last: LastAnswer | null): string {
  const kind = kindOf(last)
  if (kind === 'none') return 'Nothing sent yet.'
  if (kind === 'allowed') return '✓ Allowed.'
  if (kind === 'degraded')
    return `△ ${last!.status < 400 ? 'Allowed' : `Denied with ${last!.status}`} without DynamoDB.`
  return kind === 'denied' ? `✕ Denied with ${last!.status}.` : `■ Answered with ${last!.status}.`
}

function sentenceOf(last: LastAnswer | null): string {
  if (!last) return 'Press Fire: 25 requests at once, more than the limit allows. Then read here why.'
  const header = (name: string) => headerOf(last, name)
  const [limit, remaining] = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map(header)
  const detail = detailIn(last.body)
  switch (kindOf(last)) {
    case 'allowed':
      if (limit === undefined) return 'No limit counts this request.'
      return `${remaining} of ${limit} units are left: this request was charged in one DynamoDB write, and the backend answered it.`
    case 'denied':
      return `${detail ?? 'A limit is used up.'} The authorizer turned this request away: the backend never saw it, and it was charged nothing.`
    default:
      return detail ?? 'The request was not decided by a limit.'
  }
}

const headerOf = ({ headers }: LastAnswer, wanted: string): string | undefined =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1]

function detailIn(body: string): string | undefined {
  try {
    const { detail } = JSON.parse(body)
    return typeof detail === 'string' && detail !== '' ? detail : undefined
  } catch {
    return undefined
  }
}
