import type { ALBEvent, ALBResult } from 'aws-lambda'
import type { TieredLimiter } from 'sluice/tiered'

/** A function as a target of an Application Load Balancer: it answers denials itself, too. */
export const behindLoadBalancer = (limiter: TieredLimiter) =>
  async function handler(event: ALBEvent): Promise<ALBResult> {
    const decision = await limiter.decide({
      method: event.httpMethod,
      path: event.path,
      address: headerOf(event, 'x-forwarded-for')?.split(',').at(-1)?.trim(), // the entry that the load balancer has added
      apiKey: headerOf(event, 'x-api-key'),
      query: queryOf(event),
    })
    const { status: statusCode, headers = {}, body } = decision
    const answer = decision.allowed ? { statusCode: 200, body: 'hello' } : { statusCode, body }
    if (!event.multiValueHeaders) return { ...answer, headers }
    const lists = Object.entries(headers).map(([name, value]) => [name, [value]])
    return { ...answer, multiValueHeaders: Object.fromEntries(lists) }
  }

/** A target group with multi-value headers sends lists, and nothing in the fields for single values. */
const headerOf = ({ headers, multiValueHeaders }: ALBEvent, name: string): string | undefined =>
  multiValueHeaders?.[name]?.join(',') ?? headers?.[name]

/** The parameters of the query, decoded: a load balancer leaves names and values as they were sent. */
export function queryOf({ queryStringParameters, multiValueQueryStringParameters }: ALBEvent) {
  const sent = Object.entries(multiValueQueryStringParameters ?? queryStringParameters ?? {})
  const pairs = sent.flatMap(([name, values = '']) => [values].flat().map((value) => `${name}=${value}`))
  const query = new URLSearchParams(`&${pairs.join('&')}`) // without a first `&` it drops a first `?`
  return Object.fromEntries([...query.keys()].map((name) => [name, query.getAll(name)]))
}
