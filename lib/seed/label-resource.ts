import { CustomResource, Token } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Construct, IConstruct } from 'constructs'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { ConfigError, Mistake, printed } from '../../limiter/errors'
import { LABELS_VERSION, labelIssues } from '../../provisioning/api-labels'
import { AUDIT_PARTITION } from '../../provisioning/audit-partition'
import { SERVICE_TIMEOUT, type SeedFunction } from './seed-function'
import { SEED_PARTITION } from './seed-partition'

/** What an API is called, as every way of protecting one takes it. */
export interface LabelOptions {
  /**
   * What `apis` of tiers and routes, metrics and the log call the API: 1 to 64 letters, digits, ".", "_" or "-", known
   * at synth. No other API of the limiter may be called so. A label that operators change stays as they left it.
   * @default it is called by its id, unless operators give it a label
   */
  readonly as?: string
}

/** What APIs of this app are called, by config table: limiters may share one. */
const labels = new WeakMap<ITableV2, Map<string, { readonly id: string; readonly path: string }>>()

/** @throws ConfigError for what is no label, or what another API of this app is called. */
export function checkLabel(api: IConstruct, id: string, table: ITableV2, label: string): void {
  const { path } = api.node
  if (Token.isUnresolved(label))
    throw new ConfigError([new Mistake('invalid_value', `as must be known at synth, got a token (${path})`)])
  const known = labels.get(table) ?? new Map<string, { readonly id: string; readonly path: string }>()
  const other = known.get(label)
  const issues = labelIssues([], 'api', { label }).map(
    ({ code, message }) => new Mistake(code, `as: ${message} (${path})`),
  )
  if (other && other.id !== id)
    issues.push(
      new Mistake('duplicate_label', `as must be unique, got ${printed(label)} for ${other.path} and ${path}`),
    )
  if (issues.length > 0) throw new ConfigError(issues)
  labels.set(table, known.set(label, { id, path }))
}

/**
 * Writes what an API is called into the config table, in the stack of the API. What is made in front of the API depends
 * on it, so that the API is called so before it asks the limiter.
 *
 * @param scope what stands in front of the API.
 */
export function labelApi(
  scope: Construct,
  seed: SeedFunction,
  api: { readonly id: string; readonly name?: string; readonly label: string },
): CustomResource {
  const partitions = [CONFIG_TABLE.policySet, SEED_PARTITION, LABELS_VERSION.pk]
  seed.grant(['dynamodb:Query'], ...partitions)
  // one statement, whether IAM looks at the key of each item of a transaction or at all of them
  seed.grant(['dynamodb:PutItem', 'dynamodb:DeleteItem'], ...partitions, AUDIT_PARTITION)
  // Another function is another resource: CloudFormation takes none with a new function in the place of one with the
  // old.
  const resource = new CustomResource(scope, `Label${seed.node.addr.slice(-8)}`, {
    resourceType: 'Custom::SluiceApiLabel',
    serviceToken: seed.handler.functionArn,
    serviceTimeout: SERVICE_TIMEOUT,
    properties: { TableName: seed.configTable.tableName, Api: { Id: api.id, Name: api.name, Label: api.label } },
  })
  resource.node.addDependency(seed.role)
  return resource
}
