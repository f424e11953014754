import { UserError } from '../exit'
import { ANONYMOUS, type JwtSettings, type PolicySet } from '../facade/policies'
import { type ApiState, type Authorizer, isPreflight, type Method, type PendingEdits, type Stage } from './api-state'
import { type AttachJournal, type MethodStep, notedMethod } from './steps'
import { authorizerName, type FunctionName, parseFunctionArn } from './wanted'

/** What the attached function verifies of a request before it is allowed. */
export interface Verification {
  /** The upstream authorizer that it calls first. */
  readonly upstream?: Upstream
  /** Whether the deployment has authentication none, so that callers are allowed while they cannot be verified. */
  readonly isPublic?: boolean
  /**
   * What the config table says; `undefined` where that has mistakes, so that nobody knows which version is in force.
   */
  readonly policies?: PolicySet
}

export interface Upstream {
  /** Name or ARN, as the function's environment has it. */
  readonly function: string
  /** How long its answers are cached, in milliseconds. */
  readonly ttlMs: number
  /** The headers of the cache key, in lower case. */
  readonly cacheHeaders: readonly string[]
}

/** What happens to a method's authentication when Sluice replaces its authorizer, as a phrase for people. */
export type Replacement = { readonly kept: string } | { readonly lost: string }

/**
 * Decides whether Sluice verifies everything that a method's authorizer verifies now. An equal or stricter check counts
 * as kept; any other difference counts as lost and is reported.
 */
export function replacementOf(
  method: Method,
  { authorizers, methods }: Pick<ApiState, 'authorizers' | 'methods'>,
  checks: Verification,
  own: FunctionName,
): Replacement {
  const { type, authorizerId } = method.authorization
  const lost = unverifiable(method, { authorizers, methods })
  if (lost !== undefined) return { lost }
  const authorizer = authorizers.find(({ id }) => id === authorizerId)!
  return type === 'CUSTOM'
    ? replacedFunction(authorizer, checks.upstream, own)
    : replacedTokens(authorizer, type, checks)
}

/** Why no deployment of Sluice verifies what a method's authorizer does; `undefined` if one may. */
export function unverifiable(
  method: Method,
  { authorizers, methods }: Pick<ApiState, 'authorizers' | 'methods'>,
): string | undefined {
  const { type, authorizerId, scopes = [] } = method.authorization
  const authorizer = authorizers.find(({ id }) => id === authorizerId)
  if (type === 'AWS_IAM') return 'Sluice cannot verify IAM signatures'
  if (!authorizer) return `its authorizer ${authorizerId ?? ''} is unknown, so is what it verified`
  if (authorizer.expression) return 'Sluice does not check its validation expression'
  if (type === 'CUSTOM') return undefined
  if (!authorizer.tokens) return `Sluice cannot verify what ${type} does`
  if (scopes.length > 0) return `Sluice does not check scopes (${scopes.join(', ')})`
  return takesPreflights(method, methods)
    ? 'its OPTIONS requests would need no token, because Sluice allows preflights without credentials'
    : undefined
}

function replacedFunction(
  { uri, settings }: Authorizer,
  upstream: Upstream | undefined,
  own: FunctionName,
): Replacement {
  const called = /\/functions\/(arn:[^/]+)\/invocations$/.exec(uri)?.[1]
  if (!called || !upstream || fullArn(upstream.function, own) !== called) {
    return { lost: `Sluice does not call its function ${called?.split(':function:')[1] ?? uri} as upstream authorizer` }
  }
  // A cached answer must not be used for a request for which the old authorizer was called.
  const headers = settings.identitySources.map(headerOf)
  const isCovered =
    settings.ttlSeconds > 0 && headers.every((name) => name !== undefined && upstream.cacheHeaders.includes(name))
  if (upstream.ttlMs > 0 && !isCovered) {
    return {
      lost: 'Sluice caches the answers of its function for more requests or longer than API Gateway did (upstreamCacheTtl, upstreamCacheHeaders)',
    }
  }
  return { kept: 'Sluice calls its function as upstream authorizer' }
}

/** A name without an ARN is a function in Sluice's own account and Region. */
function fullArn(name: string, { partition, region, account }: FunctionName): string {
  return parseFunctionArn(name)?.arn ?? `arn:${partition}:lambda:${region}:${account}:function:${name}`
}

function replacedTokens(
  { tokens, settings }: Authorizer,
  type: string,
  { policies, isPublic }: Verification,
): Replacement {
  const { issuers, audience } = tokens!
  if (isPublic) return { lost: 'Sluice is deployed with authentication "none"' }
  if (!policies)
    return { lost: 'the config table has errors (see sluice doctor), so it is unclear which requests need a token' }
  const header = settings.identitySources.length === 1 ? headerOf(settings.identitySources[0]!) : undefined
  const sources = policies.settings.identity.filter(({ source }) => source !== 'ip')
  const isAsStrict = (source: JwtSettings): boolean =>
    issuers.includes(source.issuer) &&
    source.header === header &&
    (audience === 'any' || (source.audience !== 'any' && source.audience.every((one) => audience.includes(one)))) &&
    (type === 'JWT' || (source.tokenUse === 'id' && source.jwksUri === `${source.issuer}/.well-known/jwks.json`))
  const others = sources.filter((source) => source.source !== 'jwt' || !isAsStrict(source))
  if (sources.length === 0 || sources.length === others.length) {
    const what = type === 'JWT' ? `audience ${[audience].flat().join(', ')}` : 'tokenUse "id"'
    return {
      lost: `settings.identity has no jwt source for ${issuers.join(', ')} with header ${header ?? 'as there'} and ${what}`,
    }
  }
  if (others.length > 0)
    return { lost: `settings.identity also identifies callers by ${others.map(({ source }) => source).join(', ')}` }
  if (policies.tiers.get(ANONYMOUS)?.credentials !== 'required')
    return { lost: `tier "${ANONYMOUS}" is missing "credentials: required"` }
  return { kept: 'Sluice verifies its tokens' }
}

/** @throws UserError if methods would lose authentication without --open. */
export function rejectLosses(steps: readonly MethodStep[], open: readonly string[]): void {
  const losses = steps.filter(({ key, lost }) => lost !== undefined && !open.includes(key))
  if (losses.length === 0) return
  throw new UserError(
    `${losses.map(({ key, lost }) => `${key} would lose authentication: ${lost}`).join('; ')}. ` +
      `Nothing was changed: leave ${losses.length === 1 ? 'it' : 'them'} out with --methods, or allow it with ${openOptions(losses.map(({ key }) => key))}`,
  )
}

/**
 * Rejects a deployment that would remove authentication from a deployed method, because somebody removed it in the API
 * without deploying.
 *
 * @param recorded an attachment whose own authorizer a later deployment may have.
 * @returns the methods that lose authentication with the user's permission.
 * @throws UserError
 */
export function rejectOpening(
  { opens }: PendingEdits,
  state: ApiState,
  stage: Stage,
  recorded: AttachJournal | undefined,
  open: readonly string[],
): string[] {
  const served = state.deployments.find(({ id }) => id === stage.deploymentId)
  const isLater = recorded !== undefined && (served?.createdAt ?? 0) > recorded.attachment.newestDeploymentAt
  const own = recorded && authorizerName(recorded.attachment.functionArn)
  const isOurs = (key: string, by: string) =>
    isLater && (by === own || (by === 'CUSTOM' && notedMethod(recorded, key) !== undefined))
  const opened = opens.filter(({ key, by }) => !isOurs(key, by))
  const losses = opened.filter(({ key }) => !open.includes(key))
  if (losses.length === 0) return opened.map(({ key }) => key)
  const texts = losses.map(
    ({ key, by }) => `${key} is deployed with ${by}, but has no authorizer in the API’s current state`,
  )
  throw new UserError(
    `${texts.join('; ')}. A deployment of stage ${stage.name} would remove authentication from ${losses.length === 1 ? 'it' : 'them'}. Nothing was changed: ` +
      `deploy that edit first, or allow it with ${openOptions(losses.map(({ key }) => key))}`,
  )
}

/** Methods as options that open them. */
export const openOptions = (keys: readonly string[]): string => keys.map((key) => `--open '${key}'`).join(' ')

/** Whether this method gets browsers' preflights, because no OPTIONS method answers them. */
function takesPreflights({ key }: Method, methods: readonly Method[]): boolean {
  if (key === '$default') return true
  const [verb, path] = key.split(' ')
  return verb === 'ANY' && !methods.some((other) => isPreflight(other) && other.key.split(' ')[1] === path)
}

/**
 * `method.request.header.Authorization` (REST), `$request.header.Authorization` (HTTP),
 * `route.request.header.Authorization` (WebSocket): in lower case.
 */
const headerOf = (identitySource: string): string | undefined =>
  /^(?:method\.|route\.|\$)request\.header\.([\w-]+)$/.exec(identitySource)?.[1]?.toLowerCase()
