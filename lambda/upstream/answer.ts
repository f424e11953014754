import type { Grant } from '../responses/answers'
import type { GatewayRequest } from '../responses/request'
import type { Check } from './check'
import { type PolicyDocument, parsePolicy, verdictOf } from './iam-policy'

/** What the other authorizer answered; the same answer may be held against several requests. */
export interface Answer extends Omit<Grant, 'policyDocument'> {
  /** `true` and `false` are simple answers, which only HTTP APIs know. */
  readonly ruling: boolean | PolicyDocument
}

/** API Gateway takes far less. An answer that says more is none, for part of a context could mislead a backend. */
const MOST_KEYS = 100
const MOST_CHARACTERS = 10_240

/** Reads what an authorizer answered, `undefined` if it is no such answer. */
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
 * What an answer means for a request. A policy with conditions or variables is for API Gateway to apply, which an HTTP
 * API, where answers are simple, does not get to do.
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

/** Texts, finite numbers and booleans of a context; what else is in it is left out. */
function contextOf(input: unknown): Grant['context'] | undefined {
  if (input === undefined || input === null) return {}
  if (typeof input !== 'object' || Array.isArray(input)) return undefined
  const entries = Object.entries(input).filter(([key, value]) => key !== '__proto__' && isPlain(value))
  const characters = entries.reduce((sum, [key, value]) => sum + key.length + String(value).length, 0)
  if (entries.length > MOST_KEYS || characters > MOST_CHARACTERS) return undefined
  return Object.fromEntries(entries)
}

const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)

const textOf = (value: unknown) =>
  typeof value === 'string' && value !== '' && value.length <= 1024 ? value : undefined
