import type { Grant } from '../responses/answers'
import type { GatewayRequest } from '../responses/request'
import type { Check } from './check'
import { type PolicyDocument, parsePolicy, verdictOf } from './iam-policy'

/** What the upstream authorizer answered; a cached answer may be applied to several requests. */
export interface Answer extends Omit<Grant, 'policyDocument'> {
  /** `true` and `false` are simple answers, which only HTTP APIs accept. */
  readonly ruling: boolean | PolicyDocument
}

/**
 * API Gateway accepts far fewer. An answer with more keys is invalid, because part of a context could mislead a
 * backend.
 */
const MAX_KEYS = 100
const MAX_CHARACTERS = 10_240

/** Parses an authorizer's answer, `undefined` if it is invalid. */
export function parseAnswer(input: unknown, api: GatewayRequest['api']): Answer | undefined {
  const { isAuthorized, policyDocument, context, principalId, usageIdentifierKey } = Object(input) as Record<
    string,
    unknown
  >
  const simple = api === 'http' && typeof isAuthorized === 'boolean' ? isAuthorized : undefined
  const ruling = simple ?? parsePolicy(policyDocument)
  const kept = contextOf(context)
  if (ruling === undefined || kept === undefined) return undefined
  return { ruling, context: kept, principalId: textOf(principalId), usageIdentifierKey: textOf(usageIdentifierKey) }
}

/**
 * What an answer means for a request. Only API Gateway can apply a policy with conditions or variables, and it does not
 * do so on an HTTP API, where answers are simple.
 */
export function toCheck({ ruling, ...kept }: Answer, { api, methodArn = '' }: GatewayRequest): Check {
  if (ruling === false) return { kind: 'denied' }
  if (ruling === true) return { kind: 'granted', grant: kept }
  const verdict = verdictOf(ruling, methodArn)
  if (verdict === 'deny') return { kind: 'denied' }
  if (verdict === 'depends' && api === 'http')
    return {
      kind: 'unavailable',
      cause: new Error('the upstream authorizer answered a policy with conditions or variables'),
    }
  return { kind: 'granted', grant: { ...kept, policyDocument: ruling } }
}

/** Strings, finite numbers and booleans of a context; everything else in it is left out. */
function contextOf(input: unknown): Grant['context'] | undefined {
  if (input === undefined || input === null) return {}
  if (typeof input !== 'object' || Array.isArray(input)) return undefined
  const entries = Object.entries(input).filter(([key, value]) => key !== '__proto__' && isPlain(value))
  const characters = entries.reduce((sum, [key, value]) => sum + key.length + String(value).length, 0)
  if (entries.length > MAX_KEYS || characters > MAX_CHARACTERS) return undefined
  return Object.fromEntries(entries)
}

const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)

const textOf = (value: unknown) =>
  typeof value === 'string' && value !== '' && value.length <= 1024 ? value : undefined
