import { parse } from 'yaml'
import type { CallerOptions } from '../../../cli/simulate/decide/caller'
import { costNamesIn } from '../../../cli/simulate/decide/rule-set'
import { FieldMap } from '../../../cli/simulate/lines/field-map'
import { jsonLine } from '../../../cli/simulate/lines/json-line'
import { requestMaker } from '../../../cli/simulate/lines/to-request'
import type { LoggedRequest } from '../../../cli/simulate/requests/logged-request'
import { decidedOf, withUnasked } from '../../../cli/simulate/requests/unasked'
import { type Decided, Side } from '../../../cli/simulate/side'
import { Simulation } from '../../../cli/simulate/simulation'
import { AccessList } from '../../../lambda/config-table/items/access-list'
import { parseTiersFile } from '../../../lambda/config-table/items/parse-tiers-file'
import type { PolicySet } from '../../../lambda/config-table/items/policy-set'
import type { AuthorizerContext } from '../../../lambda/responses/context'
import { accessLogLine as lineOf } from '../../../provisioning/access-log'

type Event = Readonly<Record<string, never>>

export const setOf = (text: string): PolicySet => parseTiersFile(parse(text), 'tiers.yaml')

/** The line that API Gateway writes for a request, with these numbers behind the names of costs. */
export function accessLogLine(
  event: object,
  context: AuthorizerContext,
  at: number,
  { costNames = [] as readonly string[], durationMs = 12 } = {},
): string {
  const { requestContext, httpMethod, path, resource } = event as unknown as Event & {
    readonly requestContext: Event & { readonly identity: Event }
  }
  const values: Record<string, unknown> = {
    ...requestContext,
    requestTimeEpoch: at,
    httpMethod,
    path: `/${requestContext.stage}${path}`,
    resourcePath: resource,
    responseLatency: Number.isNaN(durationMs) ? '-' : durationMs,
    status: context.allowed ? 200 : 429,
    'identity.sourceIp': requestContext.identity.sourceIp,
  }
  for (const [name, value] of Object.entries(context)) values[`authorizer.${name}`] = value
  const line = lineOf((name) => values[name])
  const more = costNames.map((name) => `,"${name}":"${values[`authorizer.${name}`]}"`).join('')
  return `${line.slice(0, -1)}${more}}`
}

/** Requests from lines of JSON. @throws for one that cannot be read */
export function requestsFrom(lines: readonly string[], set: PolicySet, map = new FieldMap()): LoggedRequest[] {
  const parseLine = jsonLine(withUnasked(requestMaker(map, costNamesIn(set))))
  const requests = lines.map((line) => {
    const request = parseLine(line)
    if (request === null || typeof request === 'string') throw new Error(`${request}: ${line}`)
    return request
  })
  return [...decidedOf(requests)]
}

/** Replays requests, and returns what became of each. */
export async function replay(
  requests: readonly LoggedRequest[],
  set: PolicySet,
  { instances = 1, ...options }: Partial<CallerOptions> & { instances?: number } = {},
): Promise<{ decided: Decided[]; simulation: Simulation }> {
  const decided: Decided[] = []
  const rules = { title: 'tiers.yaml', configuration: { policies: set, access: new AccessList([]) }, hasAccess: false }
  const simulation = new Simulation(
    [new Side(rules, instances, 56)],
    { ipv6Prefix: 56, ...options },
    (_, one) => void decided.push(one),
  )
  await simulation.replay(requests)
  return { decided, simulation }
}

/** What a decision says, in a word: `ok`, `over-limit by per-minute in free`. */
export function wordOf({ answer, prepared: { tier } }: Decided): string {
  if (typeof answer === 'string') return answer
  return answer.allowed ? `ok in ${tier}` : `over-limit by ${answer.deniedBy?.name} in ${tier}`
}

/** The same of what the authorizer said. */
export function wordSaid({ reason, policy, tier }: AuthorizerContext): string {
  if (reason === 'ok') return `ok in ${tier}`
  return reason === 'over-limit' ? `over-limit by ${policy} in ${tier}` : reason
}
