import { clockText, durationText } from '../shared/time-text'
import type { LastAnswer, TierChange } from './protocol'

/** What became of the last request, in one sentence that somebody understands who has read nothing else. */
export function Why({ last, change }: { readonly last: LastAnswer | null; readonly change: TierChange | null }) {
  return (
    <div class="why" role="status" aria-live="polite" data-kind={kindOf(last)}>
      <p>
        <strong>{titleOf(last)}</strong> {sentenceOf(last)}
      </p>
      {change && (
        <p class="small" data-change={change.state}>
          {changeText(change)}
        </p>
      )}
    </div>
  )
}

function kindOf(last: LastAnswer | null): string {
  if (!last) return 'none'
  if (headerOf(last, 'x-ratelimit-reason') === 'degraded') return 'degraded'
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
  if (!last) return 'Press Fire: 25 requests at once, of which the limit lets some through. Then read here why.'
  const header = (name: string) => headerOf(last, name)
  const [limit, remaining] = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map(header)
  const detail = detailIn(last.body)
  switch (kindOf(last)) {
    case 'allowed':
      if (limit === undefined) return 'No limit counts this request.'
      return `${remaining} of ${limit} units are left: this request was charged in one DynamoDB write, and the backend answered it.`
    case 'degraded':
      return 'DynamoDB could not be asked, so the tier’s failure mode decided. This is a degraded decision.'
    case 'denied':
      return `${detail ?? 'A limit is used up.'} The authorizer turned this request away: the backend never saw it, and it was charged nothing.`
    default:
      return detail ?? 'The request was not decided by a limit.'
  }
}

function changeText({ state, message, at, inForceAt }: TierChange): string {
  const when = clockText(at)
  if (state === 'in-force')
    return `Tiers: ${message} at ${when}. In force in all authorizers since ${clockText(inForceAt!)}, after ${durationText(inForceAt! - at)}.`
  return state === 'failed' ? `Tiers: ${message}` : `Tiers: ${message} at ${when}. Not in force in all authorizers yet.`
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
