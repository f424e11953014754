import { Stack } from 'aws-cdk-lib'
import { OrganizationPrincipal, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { ConfigError, Mistake, printed } from '../limiter/errors'

/** Another principal that may call a limiter. */
export type OtherAccounts =
  | {
      /** By 12 digits. API Gateway may call the limiter for the authorizers of that account's APIs. */
      readonly account: string
      /**
       * Ids of the account's APIs that may call it.
       * @default all APIs of the account, later ones too
       */
      readonly apis?: readonly string[] | undefined
    }
  | {
      /**
       * By its id, such as `o-a1b2c3d4e5`. One permission for all of its accounts: every role there that may call the
       * function, such as the one that `invokeRole: true` makes where the limiter is imported.
       */
      readonly organization: string
    }

const ACCOUNT = /^\d{12}$/
const ORGANIZATION = /^o-[a-z0-9]{10,32}$/
const API = /^[a-z0-9]{1,64}$/

/**
 * Lets another principal call a function.
 *
 * @returns the principal, in words.
 * @throws ConfigError with every mistake.
 */
export function permitOthers(handler: IFunction, others: OtherAccounts): string[] {
  return 'organization' in others ? permitOrganization(handler, others.organization) : permitAccount(handler, others)
}

/** API Gateway, for the authorizers of another account's APIs. */
function permitAccount(
  handler: IFunction,
  { account, apis }: Extract<OtherAccounts, { readonly account: string }>,
): string[] {
  const { path } = handler.node
  const issues: string[] = []
  if (!ACCOUNT.test(account)) issues.push(`account must be 12 digits, got ${printed(account)}`)
  if (account === Stack.of(handler).account)
    issues.push(`account must differ from the limiter’s, got ${printed(account)}: protect() permits each API there`)
  if (apis?.length === 0) issues.push('apis must name at least one API, or be left out for all, got none')
  for (const api of apis ?? []) if (!API.test(api)) issues.push(`apis must be ids of APIs, got ${printed(api)}`)
  refuse(issues, path)
  for (const api of apis ?? ['*'])
    handler.addPermission(`Account${account}${api === '*' ? '' : api}`, {
      principal: new ServicePrincipal('apigateway.amazonaws.com'),
      sourceArn: Stack.of(handler).formatArn({
        service: 'execute-api',
        account,
        resource: api,
        resourceName: 'authorizers/*',
      }),
    })
  return apis ? apis.map((api) => `API ${api} of account ${account}`) : [`account ${account}`]
}

/** Every role of an organisation's accounts, as far as the role's own policy lets it. */
function permitOrganization(handler: IFunction, organization: string): string[] {
  const isId = ORGANIZATION.test(organization)
  refuse(isId ? [] : [`organization must look like "o-a1b2c3d4e5", got ${printed(organization)}`], handler.node.path)
  handler.addPermission(`Organization${organization}`, { principal: new OrganizationPrincipal(organization) })
  return [`organization ${organization}`]
}

function refuse(issues: readonly string[], path: string): void {
  if (issues.length > 0) throw new ConfigError(issues.map((one) => new Mistake('invalid_value', `${one} (${path})`)))
}
