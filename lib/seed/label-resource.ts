import { CustomResource, Token } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Construct, IConstruct } from 'constructs'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { ConfigError, invalidValue, Mistake, printed } from '../../limiter/errors'
import { LABELS_VERSION, labelIssues } from '../../provisioning/api-labels'
import { AUDIT_PARTITION } from '../../provisioning/audit-partition'
import { SERVICE_TIMEOUT, type SeedFunction } from './seed-function'
import { SEED_PARTITION } from './seed-partition'

/** The label of an API, as every way of protecting one takes it. */
export interface LabelOptions {
  /**
   * The API's label in `apis` of tiers and routes, in metrics and in the log: 1 to 64 letters, digits, ".", "_" or "-",
   * known at synth. No other API of the limiter may have it. A label that operators change stays as they left it.
   * @default its id, unless operators give it a label
   */
  readonly as?: string | undefined
}

/** The labels of this app's APIs, by config table: limiters may share one. */
const labels = new WeakMap<ITableV2, Map<string, { readonly id: string; readonly path: string }>>()

/** @throws ConfigError for an invalid label, or one that another API of this app has. */
export function checkLabel(api: IConstruct, id: string, table: ITableV2, label: string): void {
  const { path } = api.node
  if (Token.isUnresolved(label)) throw invalidValue(`as must be known at synth, got a token (${path})`)
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
 * Writes an API's label into the config table, from the stack of the API. The resources in front of the API depend on
 * it, so that the API has its label before its first request reaches the limiter.
 *
 * @param scope the construct in front of the API.
 */
export function labelApi(
  scope: Construct,
  seed: SeedFunction,
  api: { readonly id: string; readonly name?: string; readonly label: string },
): CustomResource {
  const partitions = [CONFIG_TABLE.policySet, SEED_PARTITION, LABELS_VERSION.pk]
  seed.grant(['dynamodb:Query'], ...partitions)
  // one statement, since it is unknown whether IAM checks the key of each item of a transaction or all of them
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
