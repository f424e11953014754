import { MalformedAnswer } from './api'

type Scalar = string | number | boolean

/** What a REST API's authorizer answers, checked the way API Gateway checks it. */
export interface PolicyAnswer {
  readonly principalId: string
  readonly statements: readonly Statement[]
  readonly context: Readonly<Record<string, Scalar>>
}

interface Statement {
  readonly effect: 'Allow' | 'Deny'
  readonly actions: readonly string[]
  readonly resources: readonly string[]
}

/** @see https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
const MAX_RESOURCE_BYTES = 512

/** @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html */
export function parsePolicyAnswer(answer: unknown): PolicyAnswer {
  const { principalId, policyDocument, context } = asRecord(answer, 'the answer')
  if (typeof principalId !== 'string' || principalId === '') throw new MalformedAnswer('principalId must be a string')
  const { Statement } = asRecord(policyDocument, 'policyDocument')
  return { principalId, statements: list(Statement).map(parseStatement), context: parseContext(context) }
}

/** IAM's rule: at least one statement allows it and none denies it. */
export function permits(statements: readonly Statement[], methodArn: string): boolean {
  const matching = statements.filter(
    ({ actions, resources }) =>
      actions.some((action) => matches(action.toLowerCase(), 'execute-api:invoke')) &&
      resources.some((it) => matches(it, methodArn)),
  )
  return matching.some(({ effect }) => effect === 'Allow') && matching.every(({ effect }) => effect === 'Allow')
}

function parseStatement(statement: unknown): Statement {
  const { Effect, Action, Resource, Sid: _, ...rest } = asRecord(statement, 'a statement')
  const unread = Object.keys(rest)
  if (unread.length > 0)
    throw new MalformedAnswer(`the local gateway does not evaluate ${unread.join(', ')} in a statement`)
  if (Effect !== 'Allow' && Effect !== 'Deny') throw new MalformedAnswer('Effect must be Allow or Deny')
  const resources = strings(Resource, 'Resource')
  if (resources.some((resource) => Buffer.byteLength(resource) > MAX_RESOURCE_BYTES)) {
    throw new MalformedAnswer(`a Resource must not be longer than ${MAX_RESOURCE_BYTES} bytes`)
  }
  return { effect: Effect, actions: strings(Action, 'Action'), resources }
}

function parseContext(context: unknown): Record<string, Scalar> {
  if (context === undefined || context === null) return {}
  for (const [key, value] of Object.entries(asRecord(context, 'context'))) {
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw new MalformedAnswer(`context.${key} must be a string, a number or a boolean, got ${JSON.stringify(value)}`)
    }
  }
  return context as Record<string, Scalar>
}

function asRecord(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedAnswer(`${what} must be an object`)
  return value as Record<string, unknown>
}

function strings(value: unknown, what: string): string[] {
  const all = list(value)
  if (all.length === 0 || !all.every((it) => typeof it === 'string'))
    throw new MalformedAnswer(`${what} must be a string or a list of strings`)
  return all as string[]
}

function list(value: unknown): unknown[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

/** `*` stands for any characters, slashes and colons too, and `?` for one. */
function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 's').test(text)
}
