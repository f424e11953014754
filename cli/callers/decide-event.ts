import type { PolicySetItem } from '../../provisioning/tiers-file'
import type { Client } from '../facade/callers'
import {
  type AuthorizerContext,
  apiOf,
  contextOf,
  type Deciding,
  makeDecider,
  type RequestTrace,
  readOnlyParts,
  type TraceWith,
} from '../facade/decisions'
import { scopedName } from '../facade/policies'
import { decidingEntry, type ListEntry } from './deciding-entry'
import { type EachCost, eachCost } from './named-costs'

/** What is looked at only where nothing decides before. */
type Step = 'identity' | 'tier' | 'route' | 'policies'

/** What the authorizer would answer to an event, and why. */
export interface EventDecision {
  /** `GET /search`; `undefined` for what is no event. */
  readonly request: string | undefined
  /** The API, by its label or id, and the stage. */
  readonly api: string | undefined
  readonly identity: string
  readonly tier: string
  /** The configured routes for which it can be taken. */
  readonly route: string | undefined
  /** Names of what it is held to, in the order of evaluation. */
  readonly policies: readonly string[]
  /** What it takes of them; `undefined` where something decides before. */
  readonly units: EachCost | undefined
  /** What the backend would be told; `undefined` where the answer is a bare 401 or 500. */
  readonly context: AuthorizerContext | undefined
  /** That it would be a 500, since callers cannot be verified. */
  readonly unverified: boolean
  /** The entry of a list because of which it is blocked or exempt. */
  readonly entry: ListEntry | undefined
  /** What the trace did not reach, and why; empty where it reached all. */
  readonly notLookedAt: Readonly<Partial<Record<Step, string>>>
  /** What the authorizer would log meanwhile. */
  readonly logged: readonly string[]
}

/**
 * Has the authorizer's own steps decide about an event, with a limiter that charges nothing.
 *
 * @param items reads the policy set, to name the entry of a list that decides.
 */
export async function decideEvent(
  event: unknown,
  deciding: Deciding,
  items: () => Promise<readonly PolicySetItem[]>,
): Promise<EventDecision> {
  const { logged, ...parts } = readOnlyParts(deciding)
  const trace = await makeDecider(parts)(event)
  const { request, tier, rules, plan, units } = trace
  const asked = plan?.groups.flatMap(({ policies }) => policies) ?? []
  const context = contextOf(trace)
  const isBare = request && request.api !== 'http' && ['unauthorized', 'unverified'].includes(context.reason)
  const api = apiOf(trace)
  const routes = rules?.routes.map(({ pattern, scope }) => scopedName(pattern.text, scope)).join(', ')
  return {
    request: request && `${request.method} ${request.path}`,
    api: api && `${api}/${request?.stageName ?? ''}`,
    identity: identityText(trace),
    tier: tier ? scopedName(tier.name, tier.scope) : context.tier,
    route: routes || undefined,
    policies: asked.map(({ name }) => name),
    units: units && eachCost(units, asked),
    context: isBare ? undefined : context,
    entry: ['blocked', 'exempt'].includes(context.reason) ? decidingEntry(await items(), trace) : undefined,
    notLookedAt: unreached(trace),
    unverified: isBare === true && context.reason === 'unverified',
    logged,
  }
}

/** `client acme, by its API key`, or the address of an anonymous caller. */
function identityText({ request, identity }: RequestTrace): string {
  const { credential, client } = (identity ?? {}) as { readonly credential?: string; readonly client?: Client }
  const shown = credential?.includes(':') ? credential.split(':', 1)[0] : credential && 'API key'
  if (client) return `client ${client.id}, by its ${shown}`
  return `address ${request?.sourceIp ?? 'unknown'}${shown ? `, because its ${shown} is unknown` : ''}`
}

/** The steps that found nothing because another one decided before, each with what that was. */
function unreached(trace: TraceWith<'outcome'>): EventDecision['notLookedAt'] {
  const { identity, tier, rules, plan } = trace
  const why = decidedBy(trace)
  const found = { identity, tier, route: rules, policies: plan } as const
  const names = (Object.keys(found) as Step[]).filter((name) => found[name] === undefined)
  return Object.fromEntries(names.map((name) => [name, why]))
}

/** What ended the trace, as a clause. */
function decidedBy({ configuration, identity, rules, plan, outcome }: TraceWith<'outcome'>): string {
  if (!configuration) return 'the configuration cannot be read'
  if (plan) return 'a preflight has no credentials, and is counted by address'
  const { reason } = outcome
  if (reason === 'blocked') return `the ${identity ? 'client' : 'address'} is blocked`
  if (reason === 'unauthorized')
    return identity?.kind === 'rejected' ? 'the credentials are rejected' : 'valid credentials are required'
  if (reason === 'exempt') return 'the caller is on the allow list'
  if (reason === 'uncounted' && configuration.policies.settings.mode === 'off') return 'limits are off'
  if (reason === 'malformed' && !rules) return 'the path can be taken in too many ways'
  return 'the request cannot be decided'
}
