import { type CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import {
  AddPermissionCommand,
  GetFunctionConfigurationCommand,
  GetPolicyCommand,
  type LambdaClient,
  RemovePermissionCommand,
} from '@aws-sdk/client-lambda'
import { pages } from '../../provisioning/pages'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import { chooseLimiter, limitersIn } from '../tables/limiters'
import { type Calls, ifThere, unlessGone } from './calls'
import type { Upstream, Verification } from './losses'
import { nameOf } from './other-sluice'
import { type FunctionName, parseFunctionArn } from './wanted'

/** The stack output that names the authorizer's function. */
const OUTPUT = 'AuthorizerFunctionArn'

/** What looks a function up. */
export interface Lookup {
  readonly lambda: Pick<LambdaClient, 'send'>
  readonly cloudFormation: Pick<CloudFormationClient, 'send'>
  readonly calls: Calls
  readonly region: string
  /** The config table that holds the journal. */
  readonly configTable: string
}

/** A function of Sluice's, and what its environment says that it verifies. */
export type FoundFunction = FunctionName & Pick<Verification, 'upstream' | 'isPublic'>

/**
 * Finds the function to attach, by name or by a stack's outputs. It must be a Sluice authorizer in this Region with
 * this config table.
 *
 * @throws UserError
 */
export async function findFunction(
  lookup: Lookup,
  stated: { readonly function?: string; readonly stack?: string; readonly limiter?: string },
): Promise<FoundFunction> {
  const { region, configTable } = lookup
  const text = stated.function ?? (await fromStack(lookup, stated))
  const named = parseFunctionArn(text)
  if (text.startsWith('arn:') && !named)
    throw new UserError(`--function must be a function's name or ARN, got ${printed(text)}`)
  if (named && named.region !== region) {
    throw new UserError(
      `function ${text} is in ${named.region}, not in ${region}: use --region ${named.region} for an API there`,
    )
  }
  const { FunctionArn, Environment } = await configurationOf(lookup, text)
  const target = parseFunctionArn(withQualifier(FunctionArn ?? '', qualifierOf(text)))
  if (!target) throw new UserError(`function ${printed(text)} has an invalid ARN: ${printed(FunctionArn)}`)
  const account = /(\d{12}):function:/.exec(text)?.[1] ?? target.account
  if (account !== target.account) {
    throw new UserError(
      `function ${text} is in account ${account}, and these credentials and their APIs are in ${target.account}: function and API must be in one account`,
    )
  }
  const table = Environment?.Variables?.SLUICE_CONFIG_TABLE
  if (!table)
    throw new UserError(
      `function ${printed(text)} is not a Sluice authorizer: SLUICE_CONFIG_TABLE is not in its environment`,
    )
  if (nameOf(table) !== nameOf(configTable)) {
    throw new UserError(
      `function ${printed(text)} reads config table "${table}", not "${configTable}": choose the deployment with --stack or --table`,
    )
  }
  return {
    ...target,
    upstream: upstreamOf(Environment!.Variables!),
    isPublic: Environment!.Variables!.SLUICE_AUTHENTICATION === 'none',
  }
}

/** The alias or version in a function's name or ARN; an empty text where there is none. */
const qualifierOf = (text: string): string => /^(?:.*:function:)?[\w-]+:([\w$-]+)$/.exec(text)?.[1] ?? ''

/**
 * The ARN of what was asked for: an alias stays an alias, also where Lambda answers with the version behind it, or APIs
 * would stay with that version.
 */
const withQualifier = (arn: string, qualifier: string): string =>
  arn.replace(/(:function:[\w-]+)(?::[\w$-]+)?$/, (_, name: string) => (qualifier ? `${name}:${qualifier}` : name))

/** As lambda/environment.ts reads it. */
function upstreamOf(environment: Readonly<Record<string, string>>): Upstream | undefined {
  const {
    SLUICE_UPSTREAM: name,
    SLUICE_UPSTREAM_TTL_MS: ttl = '0',
    SLUICE_UPSTREAM_CACHE_HEADERS: headers = '',
  } = environment
  return name ? { function: name, ttlMs: Number(ttl), cacheHeaders: headers.toLowerCase().split(',') } : undefined
}

/** The function of the limiter that is chosen, or else of the only one that has the config table. */
async function fromStack(
  { cloudFormation, calls, region, configTable }: Lookup,
  { stack, limiter }: { readonly stack?: string; readonly limiter?: string },
): Promise<string> {
  const stacks = await pages(async (NextToken) => {
    const page = await calls.make('cloudformation:DescribeStacks', `stack/${stack ?? '*'}`, () =>
      cloudFormation.send(new DescribeStacksCommand({ StackName: stack, NextToken })),
    )
    return { items: page.Stacks, next: page.NextToken }
  })
  const all = stacks.flatMap(limitersIn).filter(({ functionArn }) => functionArn !== undefined)
  if (all.length === 0)
    throw new UserError(
      `${stack === undefined ? `no stack in ${region}` : `stack "${stack}"`} has an output ${OUTPUT}: use --function`,
    )
  const withTable = all.filter(({ tables }) => tables && nameOf(tables.config) === nameOf(configTable))
  const candidates = limiter === undefined && withTable.length > 0 ? withTable : all
  return chooseLimiter(candidates, limiter, stack === undefined ? region : `stack ${stack}`).functionArn!
}

/** Looks a function up by its name alone, which is one of the account whose APIs these credentials see. */
async function configurationOf({ lambda, calls, region }: Lookup, text: string) {
  const FunctionName = text.split(':function:').at(-1)
  try {
    return await calls.make('lambda:GetFunctionConfiguration', `function ${text}`, () =>
      lambda.send(new GetFunctionConfigurationCommand({ FunctionName })),
    )
  } catch (error) {
    if ((error as Error).name !== 'ResourceNotFoundException') throw error
    throw new UserError(`there is no function ${printed(text)} in ${region} in the account of these credentials`)
  }
}

/** Who may call the function, as its resource policy says. */
export class FunctionPolicy {
  private readonly resource: string

  constructor(
    private readonly lambda: Pick<LambdaClient, 'send'>,
    private readonly calls: Calls,
    private readonly arn: string,
  ) {
    this.resource = `function ${arn}`
  }

  /** Ids of its statements; none where there is no policy, or no function. */
  async statements(): Promise<string[]> {
    let policy: string | undefined
    await unlessGone(async () => {
      const found = await this.calls.make('lambda:GetPolicy', this.resource, () =>
        this.lambda.send(new GetPolicyCommand({ FunctionName: this.arn })),
      )
      policy = found.Policy
    })
    const { Statement = [] } = JSON.parse(policy ?? '{}') as { Statement?: { Sid?: string }[] }
    return Statement.flatMap(({ Sid }) => (Sid === undefined ? [] : [Sid]))
  }

  /** Whether the function was deleted. */
  async isGone(): Promise<boolean> {
    const found = await ifThere(() =>
      this.calls.make('lambda:GetFunctionConfiguration', this.resource, () =>
        this.lambda.send(new GetFunctionConfigurationCommand({ FunctionName: this.arn })),
      ),
    )
    return found === undefined
  }

  /** Lets API Gateway call the function for one authorizer; a statement that is there already will do. */
  async add(StatementId: string, SourceArn: string): Promise<void> {
    try {
      await this.calls.make('lambda:AddPermission', this.resource, () =>
        this.lambda.send(
          new AddPermissionCommand({
            FunctionName: this.arn,
            StatementId,
            Action: 'lambda:InvokeFunction',
            Principal: 'apigateway.amazonaws.com',
            SourceArn,
          }),
        ),
      )
    } catch (error) {
      const { name } = error as Error
      if (name === 'PolicyLengthExceededException')
        throw new UserError(
          `Lambda takes 20 KB of permissions for a function, and those of ${this.arn} are full: detach an API, or protect APIs by the construct with invokeRole: true`,
        )
      if (name !== 'ResourceConflictException') throw error
    }
  }

  async remove(StatementId: string): Promise<void> {
    await unlessGone(() =>
      this.calls.make('lambda:RemovePermission', this.resource, () =>
        this.lambda.send(new RemovePermissionCommand({ FunctionName: this.arn, StatementId })),
      ),
    )
  }
}
