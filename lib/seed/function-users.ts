import { GetPolicyCommand, type LambdaClient } from '@aws-sdk/client-lambda'

/** Something outside the limiter's stack that a function's resource policy lets call the function. */
interface FunctionUser {
  /** The API's id; undefined where the statement names none. */
  readonly apiId: string | undefined
  /** The id of the statement in the policy. */
  readonly statement: string
  /** Whether `sluice attach` wrote the statement. */
  readonly isAttached: boolean
}

interface Statement {
  readonly Sid?: string
  readonly Principal?: string | { readonly Service?: string | readonly string[] }
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>
}

/**
 * The APIs that may call a function, by its resource policy; none where the function is gone. An API that calls by a
 * role of its own, or an alias or a version of the function, is not among them.
 *
 * @param own source ARNs of statements that do not count.
 */
async function usersOf(
  lambda: Pick<LambdaClient, 'send'>,
  functionArn: string,
  own: readonly string[],
): Promise<FunctionUser[]> {
  const { Statement: statements = [] } = JSON.parse(await policyOf(lambda, functionArn)) as {
    readonly Statement?: readonly Statement[]
  }
  return statements.flatMap((statement) => userIn(statement, own))
}

async function policyOf(lambda: Pick<LambdaClient, 'send'>, FunctionName: string): Promise<string> {
  try {
    const { Policy = '{}' } = await lambda.send(new GetPolicyCommand({ FunctionName }))
    return Policy
  } catch (error) {
    if ((error as Error).name !== 'ResourceNotFoundException') throw error
    return '{}' // no function, or one without a policy
  }
}

function userIn({ Sid = '', Principal, Condition = {} }: Statement, own: readonly string[]): FunctionUser[] {
  const services = typeof Principal === 'object' ? [Principal.Service ?? []].flat() : [Principal]
  if (!services.includes('apigateway.amazonaws.com')) return []
  const sources = Object.values(Condition).flatMap((values) =>
    Object.entries(values).flatMap(([name, value]) => (name.toLowerCase() === 'aws:sourcearn' ? [value].flat() : [])),
  )
  if (sources.length > 0 && sources.every((source) => own.includes(source))) return []
  // arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/authorizers/x9y8z7
  const [, apiId] = /^arn:[^:]+:execute-api:[^:]*:[^:]*:([a-z0-9]+)\//.exec(sources[0] ?? '') ?? []
  return [{ apiId, statement: Sid, isAttached: Sid.startsWith('sluice-attach-') }]
}

/**
 * @throws where APIs still call the function: they are named, with what to do.
 */
export async function refuseWhileUsed(
  lambda: Pick<LambdaClient, 'send'>,
  functionArn: string,
  own: readonly string[],
): Promise<void> {
  const allTheSame = 'To delete the limiter all the same, deploy it with deletionProtection: false first.'
  const users = await usersOf(lambda, functionArn, own).catch((error: Error) => {
    throw Object.assign(new Error(`nobody knows whether the limiter is in use: ${error.message}. ${allTheSame}`), {
      name: error.name,
      cause: error,
    })
  })
  if (users.length === 0) return
  const apis = (attached: boolean) => [
    ...new Set(
      users
        .filter(({ isAttached }) => isAttached === attached)
        .map(({ apiId, statement }) => apiId ?? `statement ${statement}`),
    ),
  ]
  const [attached, others] = [apis(true), apis(false)]
  throw new Error(
    [
      'the limiter is in use, and without it every request to these APIs would fail.',
      ...(attached.length > 0 ? [`Run sluice detach for: ${attached.join(', ')}.`] : []),
      ...(others.length > 0
        ? [
            `Protected from another stack or by hand, and to be released there (authorizer and permission): ${others.join(', ')}.`,
          ]
        : []),
      allTheSame,
    ].join(' '),
  )
}
