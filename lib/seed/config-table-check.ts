import { CustomResource, Lazy, Stack } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { LimiterTables } from '../limiter-tables'
import { SERVICE_TIMEOUT, type SeedFunction } from './seed-function'

/** What a deployment does that leaves a config table behind. */
export interface ConfigTableCheckOptions {
  /**
   * What a deployment does that would give the limiter a new config table and leave the one behind that the stack has:
   * the construct was renamed, or `configTableName` changed. Without the old table, clients, blocks and labels are
   * gone, and every client is anonymous. `refuse`: it fails before any API is changed, and says how to keep the table.
   * `accept`: it goes on.
   *
   * @default 'refuse'
   */
  readonly configTableLoss?: 'refuse' | 'accept' | undefined
}

/**
 * Makes a resource that asks CloudFormation, at each deployment that gives the stack another config table, which ones
 * it had.
 */
export function checkConfigTables(seed: SeedFunction, { configTableLoss }: ConfigTableCheckOptions): CustomResource {
  const stack = Stack.of(seed)
  seed.handler.addToRolePolicy(
    new PolicyStatement({
      actions: ['cloudformation:DescribeStacks', 'cloudformation:ListStackResources'],
      resources: [stack.stackId],
    }),
  )
  const check = new CustomResource(seed, 'TableCheck', {
    resourceType: 'Custom::SluiceConfigTables',
    serviceToken: seed.handler.functionArn,
    serviceTimeout: SERVICE_TIMEOUT,
    properties: {
      ConfigTables: {
        Names: Lazy.list({ produce: () => namesIn(stack) }),
        Loss: configTableLoss ?? 'refuse',
      },
    },
  })
  check.node.addDependency(seed.role)
  return check
}

/** The config tables of all limiters of a stack. */
const namesIn = (stack: Stack): string[] => [
  ...new Set(
    stack.node
      .findAll()
      .filter((node): node is LimiterTables => node instanceof LimiterTables && Stack.of(node) === stack)
      .map(({ config }) => config.tableName),
  ),
]
