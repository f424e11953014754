import {
  type CloudFormationClient,
  DescribeStacksCommand,
  ListStackResourcesCommand,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation'
import { pages } from '../../provisioning/pages'
import { unchecked } from './unchecked'

/** The properties of a check of config tables, as its resource has them. */
export interface ConfigTables {
  /** Those of all limiters of the stack. */
  readonly Names: readonly string[]
  readonly Loss: string
}

type CloudFormation = Pick<CloudFormationClient, 'send'>

/** As `LimiterTables` and CloudFormation name one, for any limiter. */
const CONFIG_TABLE = /TablesConfig[\dA-F]{8}$/
const TABLE_TYPE = /^AWS::DynamoDB::(Global)?Table$/

/**
 * Looks for config tables that limiters of a stack had and that none of them has after this deployment, while another
 * table comes new. CloudFormation removes what has left a template after all else, so they are still there.
 *
 * A deployment that only removes a limiter loses nothing that another one needs. A rollback is never refused.
 *
 * @param before of the last deployment; undefined where that had no check.
 * @throws if there are any: the error names them and the ways to keep them.
 */
export async function refuseLostTables(
  cloudFormation: CloudFormation,
  stack: string,
  { Names, Loss }: ConfigTables,
  before: ConfigTables | undefined,
): Promise<void> {
  const added = Names.filter((name) => !before?.Names.includes(name))
  if (Loss === 'accept' || added.length === 0) return
  const anyway = "To go on without the clients of the old table: configTableLoss: 'accept'."
  const ask = async () => {
    const { Stacks: [{ StackStatus = '' } = {}] = [] } = await cloudFormation.send(
      new DescribeStacksCommand({ StackName: stack }),
    )
    return StackStatus.includes('ROLLBACK') ? undefined : resourcesOf(cloudFormation, stack)
  }
  const resources = await ask().catch(unchecked('whether clients are left behind in another config table', anyway))
  if (!resources) return
  const deployed = resources.flatMap(({ LogicalResourceId: id = '', PhysicalResourceId: name, ResourceType = '' }) =>
    name && TABLE_TYPE.test(ResourceType) && CONFIG_TABLE.test(id) ? [{ id, name }] : [],
  )
  const lost = [...new Set([...deployed.map(({ name }) => name), ...(before?.Names ?? [])])].filter(
    (name) => !Names.includes(name),
  )
  if (lost.length === 0) return
  const idOf = (names: readonly string[]) => deployed.find(({ name }) => names.includes(name))?.id
  const [id, newId] = [idOf(lost), idOf(added)]
  const ways = [
    'give the construct its old id and the table its old name',
    ...(id && newId && id !== newId ? [`Stack.of(limiter).renameLogicalId('${newId}', '${id}')`] : []),
    'npx cdk refactor',
    `configTable: TableV2.fromTableName(this, 'Clients', '${lost[0]}')`,
  ]
  throw new Error(
    `the limiter would get the new config table ${added.join(', ')} and leave ${lost.join(', ')} behind, with every client in it: ` +
      `the construct was renamed, or its table was. To keep the table, one of: ${ways.join('; ')}. ${anyway}`,
  )
}

const resourcesOf = async (cloudFormation: CloudFormation, StackName: string): Promise<StackResourceSummary[]> => {
  const all = await pages(async (NextToken) => {
    const page = await cloudFormation.send(new ListStackResourcesCommand({ StackName, NextToken }))
    return { items: page.StackResourceSummaries, next: page.NextToken }
  })
  return all.filter(({ ResourceStatus = '' }) => !ResourceStatus.startsWith('DELETE_'))
}
