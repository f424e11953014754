import { invalidValue, printed } from '../limiter/errors'
import type { Caller, TieredRequest } from '../tiered/tiered-request'
import type { Charged } from './charge'
import { remember } from './decisions'
import type { TieredLimits } from './limits'

/** What a framework shows of a request that a limiter with tiers decides by. */
export interface RequestFacts extends Pick<TieredRequest, 'method' | 'headers'> {
  /** As it was sent: a path with a query, or all of a URL. */
  readonly url: string
}

/** Charges a request by the rules of a limiter with tiers. */
export async function chargeByTier(
  request: object,
  limiter: TieredLimits,
  { url, ...facts }: RequestFacts,
  caller: unknown,
  others: Pick<TieredRequest, 'address' | 'cost' | 'costs'>,
): Promise<Charged> {
  if (caller && typeof caller !== 'object')
    throw invalidValue(`keyBy must return { clientId }, { user } or { apiKey } with tiers, got ${printed(caller)}`)
  const [path, ...query] = url.replace(/^\w+:\/\/[^/?]*/, '').split('?') as [string, ...string[]]
  const { status, headers, body, context, decision } = await limiter.decide({
    ...others,
    ...facts,
    ...(caller as Caller | undefined),
    path: path || '/',
    query: valuesOf(new URLSearchParams(query.join('?'))),
  })
  if (decision) remember(request, decision)
  const { reservation: token } = context
  return {
    denial: status === 200 ? undefined : { statusCode: status, headers: { ...headers }, body: body! },
    headers,
    delayMs: context.delayMs,
    held: token
      ? { token, meter: () => limiter.meter(token), settle: (used) => limiter.settle(token, used) }
      : undefined,
    giveBack: async () => {},
  }
}

/** All values of each name. */
const valuesOf = (query: URLSearchParams): Record<string, string[]> =>
  Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]))
