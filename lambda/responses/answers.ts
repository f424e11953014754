import { type AuthorizerContext, plain } from './context'
import type { GatewayRequest } from './request'

/** What an answer is made from. */
export interface AnswerInput {
  readonly allowed: boolean
  readonly context: AuthorizerContext
  /** The caller's name in API Gateway's logs. */
  readonly principalId: string
  /** Who answers requests over the limit on HTTP APIs: API Gateway its 403, or the backend 429. @default 'gateway' */
  readonly denials?: 'gateway' | 'backend'
  /** What the upstream authorizer has granted. @default there is no upstream authorizer */
  readonly grant?: Grant
  /**
   * The API key to which a usage plan counts an allowed request; REST APIs only. @default the upstream authorizer's
   */
  readonly usageIdentifierKey?: string
}

/** What an upstream authorizer returns when it allows a request. */
export interface Grant {
  /** For backends. Where Sluice sets the same key, Sluice's value wins. */
  readonly context: Readonly<Record<string, string | number | boolean>>
  /** @default Sluice's */
  readonly principalId?: string
  /** The API key to which a usage plan counts the request; REST APIs only. */
  readonly usageIdentifierKey?: string
  /**
   * Returned unchanged for an allowed request of a REST or WebSocket API. @default Sluice's, which allows the requested
   * method only
   */
  readonly policyDocument?: { readonly Version?: string; readonly Statement: readonly object[] }
}

/**
 * For REST and WebSocket APIs:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html
 */
export interface PolicyAnswer {
  readonly principalId: string
  readonly policyDocument: {
    readonly Version: '2012-10-17'
    readonly Statement: readonly [
      { readonly Action: 'execute-api:Invoke'; readonly Effect: 'Allow' | 'Deny'; readonly Resource: string },
    ]
  }
  readonly context: AuthorizerContext
  readonly usageIdentifierKey?: string
}

/**
 * For HTTP APIs with payload 2.0:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html
 */
export interface SimpleAnswer {
  readonly isAuthorized: boolean
  readonly context: AuthorizerContext
}

export type AuthorizerAnswer = PolicyAnswer | SimpleAnswer

/**
 * An answer in the form that the request's API understands. An event that is not a request is denied, in the form that
 * most kinds of API understand. Invalid credentials are thrown, which makes REST and WebSocket APIs answer 401;
 * credentials that cannot be verified are thrown, too, for a 500.
 */
export function toAnswer(request: GatewayRequest | undefined, input: AnswerInput): AuthorizerAnswer {
  const { allowed, principalId, denials, grant } = input
  const context = { ...grant?.context, ...input.context }
  const isAuthorized = allowed && request !== undefined
  if (request?.api === 'http')
    return { isAuthorized: isAuthorized || (denials === 'backend' && context.rateLimited), context }
  if (context.reason === 'unauthorized') unauthorized()
  if (context.reason === 'unverified') throw new Error(UNVERIFIED)
  const own = isAuthorized && request.api === 'rest' ? input.usageIdentifierKey : undefined
  const usageIdentifierKey = own ?? grant?.usageIdentifierKey
  return {
    principalId: grant?.principalId ?? (plain(principalId) || 'unknown'),
    policyDocument: (isAuthorized && (grant?.policyDocument as PolicyAnswer['policyDocument'])) || {
      Version: '2012-10-17',
      Statement: [
        {
          Action: 'execute-api:Invoke',
          Effect: isAuthorized ? 'Allow' : 'Deny',
          Resource: resourceOf(request?.methodArn),
        },
      ],
    },
    context,
    ...(usageIdentifierKey !== undefined && { usageIdentifierKey }),
  }
}

/**
 * The message that is thrown where the caller cannot be verified; API Gateway answers 500, and does not show the
 * message.
 */
const UNVERIFIED = 'callers cannot be verified at the moment'

/**
 * Makes a REST API answer 401 when thrown out of the handler; any other message makes it a 500. An HTTP API is answered
 * `isAuthorized: false` instead, since what it does with an error is not documented.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export function unauthorized(): never {
  throw new Error('Unauthorized')
}

/** A policy's resource is limited to 512 bytes while a method's ARN may have 1,600. */
const MAX_RESOURCE_LENGTH = 512

/**
 * A resource that always matches the request: its own ARN, or its whole stage when that ARN is too long or contains
 * `${`, which IAM would take for a variable. The wider one allows no other request, because the answer is not cached.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html
 */
function resourceOf(methodArn: string | undefined): string {
  const stage = /^arn:[^/]+\/[^/]+\//.exec(methodArn ?? '')?.[0]
  if (methodArn === undefined || stage === undefined) return '*'
  return (
    [methodArn, `${stage}*`].find((arn) => Buffer.byteLength(arn) <= MAX_RESOURCE_LENGTH && !arn.includes('${')) ?? '*'
  )
}
