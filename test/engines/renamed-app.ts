import { App, Stack } from 'aws-cdk-lib'
import { MockIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'

/** What a deployment of the app below is of, as JSON in the environment variable `RENAMED`. */
export interface Renamed {
  readonly construct: string
  readonly props?: Pick<RateLimiterProps, 'configTableLoss' | 'configTableName'>
  /** The name of a table that is handed over. */
  readonly configTable?: string
  /** Logical ids that are kept: the generated one, then the deployed one. */
  readonly keep?: readonly [string, string]
}

/** An app with one limiter, in a stack of its own, in which the construct may have any id. */
const { construct, props, configTable, keep }: Renamed = JSON.parse(process.env.RENAMED!)
const stack = new Stack(new App(), 'Renamed')
const limiter = new RateLimiter(stack, construct, {
  tiers: { anonymous: { policies: [{ limit: 10, window: '1m' }] } },
  ...props,
  ...(configTable && { configTable: TableV2.fromTableName(stack, 'Clients', configTable) }),
})
if (keep) stack.renameLogicalId(...keep)
const api = new RestApi(stack, 'Api', { cloudWatchRole: false })
api.root.addMethod('GET', new MockIntegration())
limiter.protect(api)
