import { Annotations, CfnResource } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { Construct } from 'constructs'
import { CONFIG_TABLE } from '../lambda/config-table/items/config-keys'
import { printed } from '../limiter/errors'
import { STATE_TABLE } from '../limiter/stores/state-table'
import { AUDIT_TIME_TO_LIVE } from '../provisioning/audit-partition'
import type { LimiterTablesOptions } from './limiter-tables'
import { synthesised } from './protect/synthesised'

interface Schema {
  readonly KeySchema?: readonly { readonly AttributeName: string; readonly KeyType: 'HASH' | 'RANGE' }[]
  readonly AttributeDefinitions?: readonly { readonly AttributeName: string; readonly AttributeType: string }[]
  readonly TimeToLiveSpecification?: { readonly AttributeName?: string; readonly Enabled?: boolean }
}

/** Why tables of one's own cannot be used, if the app makes them: imported ones cannot be checked. */
export function tableMistakes({ stateTable, configTable }: LimiterTablesOptions): string[] {
  return [
    ...keyMistakes('stateTable', stateTable, [STATE_TABLE.partitionKey]),
    ...timeToLiveMistakes(stateTable),
    ...keyMistakes('configTable', configTable, [CONFIG_TABLE.partitionKey, CONFIG_TABLE.sortKey]),
  ]
}

/** Warns of a config table that keeps every record of its audit trail forever; an imported one cannot be checked. */
export function warnOfEndlessAudit(scope: Construct, table: ITableV2 | undefined): void {
  const schema = schemaOf(table)
  if (!schema || timeToLiveOf(schema) === AUDIT_TIME_TO_LIVE) return
  Annotations.of(scope).addWarningV2(
    'sluice:auditTimeToLive',
    `configTable should have the TTL attribute ${printed(AUDIT_TIME_TO_LIVE)}, got ${timeToLiveOf(schema) === undefined ? 'none' : printed(timeToLiveOf(schema))}: ` +
      `records of the audit trail would be kept forever (${table!.node.path})`,
  )
}

function timeToLiveOf({ TimeToLiveSpecification: { AttributeName, Enabled } = {} }: Schema): string | undefined {
  return Enabled === false ? undefined : AttributeName
}

function keyMistakes(prop: string, table: ITableV2 | undefined, wanted: readonly string[]): string[] {
  const schema = schemaOf(table)
  if (!schema?.KeySchema) return []
  const typeOf = (name: string) =>
    schema.AttributeDefinitions?.find(({ AttributeName }) => AttributeName === name)?.AttributeType
  const names = schema.KeySchema.toSorted((a, b) => (a.KeyType < b.KeyType ? -1 : 1)).map((key) => key.AttributeName)
  const text = (keys: readonly string[], type: (name: string) => string | undefined) =>
    keys.map((name) => `${printed(name)} (${type(name)})`).join(' and ')
  const [got, want] = [text(names, typeOf), text(wanted, () => 'S')]
  return got === want ? [] : [`${prop} must have the key ${want}, got ${got} (${table!.node.path})`]
}

function timeToLiveMistakes(table: ITableV2 | undefined): string[] {
  const schema = schemaOf(table)
  if (!schema) return []
  const [got, wanted] = [timeToLiveOf(schema), STATE_TABLE.timeToLiveAttribute]
  if (got === wanted) return []
  return [
    `stateTable must have the TTL attribute ${printed(wanted)}, got ${got === undefined ? 'none' : printed(got)}: ` +
      `items would never expire (${table!.node.path})`,
  ]
}

function schemaOf(table: ITableV2 | undefined): Schema | undefined {
  const resource = table?.node.defaultChild
  return CfnResource.isCfnResource(resource as CfnResource) ? synthesised(resource as CfnResource) : undefined
}
