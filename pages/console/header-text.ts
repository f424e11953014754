import { clockText, counted, durationText } from '../shared/time-text'

/** What a header of an answer says, in a sentence; `undefined` for one that says nothing about limits. */
export function headerText(name: string, value: string, status: number): string | undefined {
  const isDenied = status === 429
  switch (name.toLowerCase()) {
    case 'retry-after':
      return `Do not try again before ${durationText(Number(value) * 1000)} have passed.`
    case 'x-ratelimit-limit':
      return `The policy that is nearest to its end allows ${counted(Number(value), 'unit')} per window.`
    case 'x-ratelimit-remaining':
      return `${counted(Number(value), 'unit')} of that policy ${Number(value) === 1 ? 'is' : 'are'} left.`
    case 'x-ratelimit-reset':
      return isDenied
        ? `At ${clockText(Number(value) * 1000)} this request would pass.`
        : `At ${clockText(Number(value) * 1000)} all units of that policy are back.`
    case 'x-ratelimit-reason':
      return REASONS[value] ?? `The authorizer’s reason: ${value}.`
    case 'x-ratelimit-overage':
      return `${counted(Number(value), 'unit')} past the quota, which is billed and not denied.`
    case 'ratelimit':
      return itemsOf(value)
        .map(({ policy, r = 0, t = 0 }) => {
          const left = `Policy ${policy}: ${counted(r, 'unit')} left`
          if (isDenied) return `${left}; the request would pass in ${durationText(t * 1000)}.`
          return `${left}; all are back in ${durationText(t * 1000)}.`
        })
        .join(' ')
    case 'ratelimit-policy':
      return itemsOf(value)
        .map(({ policy, q = 0, w }) => {
          const per = w === undefined ? 'at a time' : `in any ${durationText(w * 1000)}`
          return `Policy ${policy}: ${counted(q, 'unit')} ${per}.`
        })
        .join(' ')
    case 'x-amzn-requestid':
    case 'apigw-requestid':
      return 'API Gateway’s name for this request, by which the logs know it.'
    case 'x-amzn-errortype':
      return 'What API Gateway calls this kind of answer.'
    default:
      return undefined
  }
}

const REASONS: Readonly<Record<string, string>> = {
  'over-limit': 'Denied because a limit is used up.',
  degraded: 'Decided without DynamoDB, because it could not be reached.',
  unavailable: 'Denied because DynamoDB could not be reached, and the failure mode is deny.',
  overrun: 'Past the limit, within what the tier lets it run over.',
  blocked: 'Denied because the caller is on the block list.',
}

interface Item {
  readonly policy: string
  readonly q?: number
  readonly r?: number
  readonly t?: number
  readonly w?: number
}

/** `"per-minute";r=0;t=36, "per-day";r=9;t=5`: RateLimit and RateLimit-Policy. */
function itemsOf(value: string): Item[] {
  return [...value.matchAll(/"([^"]*)"((?:;[a-z]+=[^;,]+)*)/g)].map(([, policy, parameters]) => ({
    policy: policy!,
    ...Object.fromEntries(
      [...parameters!.matchAll(/;([a-z]+)=(\d+)/g)].map(([, name, number]) => [name!, Number(number)]),
    ),
  }))
}
