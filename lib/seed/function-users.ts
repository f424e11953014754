import {
  GetPolicyCommand,
  type LambdaClient,
  ListAliasesCommand,
  ListVersionsByFunctionCommand,
} from '@aws-sdk/client-lambda'
import { pages } from '../../provisioning/pages'
import { authorizersOf } from './api-authorizers'
import { unchecked } from './unchecked'

/** Something outside the limiter's stack that calls the limiter's function, or may. */
interface FunctionUser {
  /** The API's id; undefined if the statement names none. */
  readonly apiId: string | undefined
  /** The id of the statement in a policy, or of the authorizer. */
  readonly name: string
  /** Whether `sluice attach` wrote the statement. */
  readonly isAttached: boolean
}

/** A guard's properties, as its resource has them. */
export interface Guarded {
  readonly FunctionArn: string
  /** Source ARNs of statements that do not count, since they end with the stack. */
  readonly Own?: readonly string[]
  /** APIs of the stack, and `apiId/authorizerId` of its authorizers at other APIs; only with an invoke role. */
  readonly OwnCallers?: readonly string[]
  /** Others with whom the limiter is shared: accounts, organisations, or APIs of accounts. */
  readonly SharedWith?: readonly string[]
  /** Whether API Gateway calls by a role, which the function's policies do not show. */
  readonly ByRole?: string
}

interface Statement {
  readonly Sid?: string
  readonly Principal?: string | { readonly Service?: string | readonly string[] }
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>
}

type Lambda = Pick<LambdaClient, 'send'>

/** All callers outside the stack for which API Gateway calls the function, its aliases or its versions. */
async function usersOf(
  lambda: Lambda,
  { FunctionArn, Own = [], OwnCallers = [], ByRole }: Guarded,
): Promise<FunctionUser[]> {
  const users: FunctionUser[] = []
  for (const qualifier of [undefined, ...(await qualifiersOf(lambda, FunctionArn))])
    for (const statement of await statementsOf(lambda, FunctionArn, qualifier)) users.push(...userIn(statement, Own))
  if (ByRole !== 'true') return users
  const callers = (await authorizersOf(FunctionArn)).filter(
    ({ apiId, authorizerId }) => !OwnCallers.includes(apiId) && !OwnCallers.includes(`${apiId}/${authorizerId}`),
  )
  const known = new Set(users.map(({ apiId }) => apiId))
  return [
    ...users,
    ...callers.flatMap(({ apiId, authorizerId }) =>
      known.has(apiId) ? [] : [{ apiId, name: authorizerId, isAttached: false }],
    ),
  ]
}

/** Names of aliases and numbers of versions, each with a policy of its own; empty if the function is gone. */
async function qualifiersOf(lambda: Lambda, FunctionName: string): Promise<string[]> {
  return unlessGone([], async () => {
    const aliases = await pages(async (Marker) => {
      const page = await lambda.send(new ListAliasesCommand({ FunctionName, Marker }))
      return { items: page.Aliases, next: page.NextMarker }
    })
    const versions = await pages(async (Marker) => {
      const page = await lambda.send(new ListVersionsByFunctionCommand({ FunctionName, Marker }))
      return { items: page.Versions, next: page.NextMarker }
    })
    const names = [...aliases.map(({ Name }) => Name), ...versions.map(({ Version }) => Version)]
    return names.filter((name) => name !== undefined && name !== '$LATEST') as string[]
  })
}

/** The statements of one policy; empty if there is no policy. */
async function statementsOf(lambda: Lambda, FunctionName: string, Qualifier?: string): Promise<readonly Statement[]> {
  return unlessGone([], async () => {
    const { Policy = '{}' } = await lambda.send(new GetPolicyCommand({ FunctionName, Qualifier }))
    return (JSON.parse(Policy) as { readonly Statement?: readonly Statement[] }).Statement ?? []
  })
}

async function unlessGone<T>(nothing: T, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if ((error as Error).name !== 'ResourceNotFoundException') throw error
    return nothing
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
  return [{ apiId, name: `statement ${Sid}`, isAttached: Sid.startsWith('sluice-attach-') }]
}

/** @throws while APIs still call the function: the error names them and what to do. */
export async function refuseWhileUsed(lambda: Lambda, guarded: Guarded): Promise<void> {
  const allTheSame = 'To delete the limiter all the same, deploy it with deletionGuard: false first.'
  const users = await usersOf(lambda, guarded).catch(unchecked('whether the limiter is in use', allTheSame))
  const { SharedWith: shared = [] } = guarded
  if (users.length + shared.length === 0) return
  const apis = (attached: boolean) => [
    ...new Set(users.filter(({ isAttached }) => isAttached === attached).map(({ apiId, name }) => apiId ?? name)),
  ]
  const [attached, others] = [apis(true), apis(false)]
  throw new Error(
    [
      `${users.length > 0 ? 'the limiter is in use' : 'the limiter may be in use'}, and without it every request to these APIs would fail.`,
      ...(shared.length > 0
        ? [
            `Shared with ${shared.join(', ')}, whose APIs cannot be seen from here: release them there, then deploy without shareWith().`,
          ]
        : []),
      ...(attached.length > 0 ? [`Run sluice detach for: ${attached.join(', ')}.`] : []),
      ...(others.length > 0
        ? [
            `Protected from another stack or by hand, and to be released there (authorizer, and permission if there is one): ${others.join(', ')}.`,
          ]
        : []),
      allTheSame,
    ].join(' '),
  )
}
