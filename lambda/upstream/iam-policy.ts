/** A statement of an IAM policy, which is passed on unchanged. */
interface Statement {
  readonly Effect: 'Allow' | 'Deny'
  readonly [field: string]: unknown
}

export interface PolicyDocument {
  readonly Version?: string
  readonly Statement: readonly Statement[]
}

/**
 * A policy's verdict on a request; `depends` where a condition or a variable decides, which only API Gateway can
 * evaluate.
 */
export type Verdict = 'allow' | 'deny' | 'depends'

const ACTION = 'execute-api:invoke'

/** Parses a policy, `undefined` if it is invalid. A single statement need not be in a list. */
export function parsePolicy(input: unknown): PolicyDocument | undefined {
  const { Version, Statement } = Object(input) as { Version?: unknown; Statement?: unknown }
  const statements = [Statement].flat()
  if (!statements.every(isStatement) || (Version !== undefined && typeof Version !== 'string')) return undefined
  return { ...(Version !== undefined && { Version }), Statement: statements }
}

/**
 * Whether a policy allows this method to be invoked: one statement allows it and none denies it. What no statement
 * mentions is denied.
 *
 * @param arn the ARN of the method that was requested.
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export function verdictOf({ Statement }: PolicyDocument, arn: string): Verdict {
  const applying = Statement.map((statement) => ({ effect: statement.Effect, applies: appliesTo(statement, arn) }))
  const has = (effect: Statement['Effect'], applies: boolean | undefined) =>
    applying.some((one) => one.effect === effect && one.applies === applies)
  if (has('Deny', true)) return 'deny'
  if (has('Deny', undefined)) return 'depends'
  if (has('Allow', true)) return 'allow'
  return has('Allow', undefined) ? 'depends' : 'deny'
}

/** `undefined` where only API Gateway can decide. */
function appliesTo(
  { Action, NotAction, Resource, NotResource, Condition }: Statement,
  arn: string,
): boolean | undefined {
  if (!isAbout(Action, NotAction, (pattern) => matches(pattern.toLowerCase(), ACTION))) return false
  const hasVariables = listOf(Resource ?? NotResource).some((pattern) => pattern.includes('${'))
  if (hasVariables) return undefined
  if (!isAbout(Resource, NotResource, (pattern) => matches(pattern, arn))) return false
  return Condition === undefined ? true : undefined
}

function isAbout(named: unknown, excepted: unknown, test: (pattern: string) => boolean): boolean {
  return named === undefined ? !listOf(excepted).some(test) : listOf(named).some(test)
}

const listOf = (patterns: unknown) => [patterns].flat() as string[]

function isStatement(input: unknown): input is Statement {
  const { Effect, Action, NotAction, Resource, NotResource } = Object(input) as Statement
  return (Effect === 'Allow' || Effect === 'Deny') && isOneOf(Action, NotAction) && isOneOf(Resource, NotResource)
}

/** Either of the two, as a text or a list of texts. */
function isOneOf(named: unknown, excepted: unknown): boolean {
  if ((named === undefined) === (excepted === undefined)) return false
  const patterns = [named ?? excepted].flat()
  return patterns.length > 0 && patterns.every((pattern) => typeof pattern === 'string')
}

/**
 * Whether a text matches a pattern in which `*` stands for any characters and `?` for any one. It takes time
 * proportional to the product of both lengths at most, unlike a regular expression on paths that a caller makes up.
 */
export function matches(pattern: string, text: string): boolean {
  let [at, star, resume] = [0, -1, 0]
  for (let i = 0; i < text.length; ) {
    if (pattern[at] === '*') {
      star = at++
      resume = i
    } else if (pattern[at] === '?' || pattern[at] === text[i]) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++resume
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
