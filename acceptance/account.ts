import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { UserError } from '../cli/exit'
import { callerArn } from '../cli/tables/author'

/** Whose account it is, and whether it is one of AWS. */
export interface Account {
  readonly id: string
  readonly region: string
  /** Of the credentials. */
  readonly caller: string
  /** Something else than AWS answers: what it says is no evidence, and is not saved. */
  readonly isEmulator: boolean
}

const BOOTSTRAP = 'CDKToolkit'
const AWS_HOSTS = /\.(amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|api\.aws)$/

/**
 * Finds out whose account the credentials at hand are of.
 *
 * @param missing what else is missing, in sentences.
 * @throws UserError that names all that is missing: without credentials or a Region, for credentials that are refused,
 *   and for an account in which the CDK cannot deploy.
 */
export async function openAccount(env: NodeJS.ProcessEnv, missing: readonly string[] = []): Promise<Account> {
  const client = new DynamoDBClient()
  try {
    const region = await client.config.region().catch(() => undefined)
    const noCredentials = await client.config.credentials().then(
      () => undefined,
      (error: Error) =>
        `no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (${error.message})`,
    )
    const all = [
      ...(region === undefined ? ['no AWS Region: set AWS_REGION, or a Region in the profile'] : []),
      ...(noCredentials === undefined ? [] : [noCredentials]),
      ...missing,
    ]
    if (region === undefined || all.length > 0)
      throw new UserError(
        region !== undefined && noCredentials === undefined
          ? all.join('\n')
          : [...all, 'the account also needs npx cdk bootstrap once, which is looked at when it can be asked'].join(
              '\n',
            ),
      )
    const caller = await callerArn(client, env).catch((error: Error) => {
      throw new UserError(`STS does not answer in ${region}: ${error.message}`)
    })
    if (caller === undefined) throw new UserError('AWS does not accept these credentials: sts:GetCallerIdentity failed')
    const id = caller.split(':')[4]!
    const host = await hostThatAnswers(region)
    const isEmulator = !AWS_HOSTS.test(host) || hasOtherEndpoint(env) || id === '000000000000'
    return { id, region, caller, isEmulator }
  } finally {
    client.destroy()
  }
}

/** An endpoint URL may also stand in a profile, so what counts is where a request went. */
async function hostThatAnswers(region: string): Promise<string> {
  const stacks = new CloudFormationClient()
  let host = ''
  stacks.middlewareStack.add(
    (next) => (args) => {
      const { protocol, hostname } = args.request as { readonly protocol: string; readonly hostname: string }
      host = protocol === 'https:' ? hostname : ''
      return next(args)
    },
    { step: 'finalizeRequest', name: 'whoAnswers' },
  )
  try {
    await stacks.send(new DescribeStacksCommand({ StackName: BOOTSTRAP }))
    return host
  } catch (error) {
    if (error instanceof Error && /does not exist/.test(error.message))
      throw new UserError(`the CDK has not been set up in this account and Region: npx cdk bootstrap (${region})`)
    throw error
  } finally {
    stacks.destroy()
  }
}

/** `AWS_ENDPOINT_URL`, and `AWS_ENDPOINT_URL_LAMBDA` and so on. */
const hasOtherEndpoint = (env: NodeJS.ProcessEnv): boolean =>
  Object.entries(env).some(([name, value]) => name.startsWith('AWS_ENDPOINT_URL') && value)
