import { setTimeout as sleep } from 'node:timers/promises'
import { GetIntegrationsCommand, GetRoutesCommand } from '@aws-sdk/client-apigatewayv2'
import {
  type ChangeSetType,
  CreateChangeSetCommand,
  DeleteStackCommand,
  DescribeChangeSetCommand,
  DescribeStackEventsCommand,
  DescribeStacksCommand,
  ExecuteChangeSetCommand,
} from '@aws-sdk/client-cloudformation'
import { type Check, found } from '../check'
import { apiIdIn, type Scene } from '../scene'

const POLL_MS = 3000
const POLLS = 200

/** What becomes of a stack: `CREATE_COMPLETE`, or `gone`. */
async function endOf({ clients }: Scene, StackName: string): Promise<string> {
  for (let i = 0; i < POLLS; i++) {
    const status = await clients.stacks.send(new DescribeStacksCommand({ StackName })).then(
      ({ Stacks }) => Stacks?.[0]?.StackStatus ?? 'gone',
      (error: Error) => {
        if (/does not exist/.test(error.message)) return 'gone'
        throw error
      },
    )
    if (!/_IN_PROGRESS$/.test(status)) return status
    await sleep(POLL_MS)
  }
  return 'still changing'
}

/** A config table as the construct makes it with `configTableName`, alone. */
const tableTemplate = (TableName: string, Region: string): string =>
  JSON.stringify({
    Resources: {
      Config: {
        Type: 'AWS::DynamoDB::GlobalTable',
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
        Properties: {
          TableName,
          BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
          KeySchema: [
            { AttributeName: 'pk', KeyType: 'HASH' },
            { AttributeName: 'sk', KeyType: 'RANGE' },
          ],
          TimeToLiveSpecification: { AttributeName: 'exp', Enabled: true },
          Replicas: [{ Region }],
        },
      },
    },
  })

/** Makes a stack of a template, and says how it ended. */
async function make(scene: Scene, StackName: string, TemplateBody: string, imports: boolean): Promise<string> {
  const { stacks } = scene.clients
  const at = { StackName, ChangeSetName: `make-${imports ? 'importing' : 'new'}` }
  const ChangeSetType: ChangeSetType = 'CREATE'
  await stacks.send(
    new CreateChangeSetCommand({ ...at, ChangeSetType, TemplateBody, ImportExistingResources: imports }),
  )
  for (let i = 0; i < POLLS; i++) {
    const { Status, StatusReason } = await stacks.send(new DescribeChangeSetCommand(at))
    if (Status === 'FAILED') return `refused: ${StatusReason}`
    if (Status === 'CREATE_COMPLETE') break
    await sleep(POLL_MS)
  }
  await stacks.send(new ExecuteChangeSetCommand(at))
  await sleep(POLL_MS)
  return endOf(scene, StackName)
}

async function remove(scene: Scene, StackName: string): Promise<void> {
  await scene.clients.stacks.send(new DeleteStackCommand({ StackName }))
  await endOf(scene, StackName)
}

export const STACKS: readonly Check[] = [
  {
    id: 'export-in-use',
    lines: ['export-in-use'],
    asks: 'Deleting the limiter’s stack while another stack’s API uses it',
    expects: 'it is refused before anything is deleted: an export is in use',
    onlyAws: 'MiniStack does not look at exports',
    alone: true,
    async run(scene) {
      const StackName = `${scene.name}-limiter`
      const refusal = await scene.clients.stacks.send(new DeleteStackCommand({ StackName })).then(
        () => '',
        (error: Error) => error.message,
      )
      await sleep(POLL_MS)
      const status = await endOf(scene, StackName)
      const { StackEvents = [] } = await scene.clients.stacks.send(new DescribeStackEventsCommand({ StackName }))
      const deleted = StackEvents.filter(({ ResourceStatus }) => ResourceStatus === 'DELETE_COMPLETE').length
      const said = refusal || StackEvents[0]?.ResourceStatusReason
      const { status: answer } = await scene.traffic.send(`${scene.outputs.limiter.RestUrl}hello`)
      return found(
        status !== 'gone' && deleted === 0 && answer === 200,
        `${status}, ${said}; the API answers ${answer}`,
      )
    },
  },
  {
    id: 'unprotect',
    lines: ['merged-maps', 'l1-route'],
    asks: '`unprotect()` in the place of `protect()`: an L2 route, an L1 route, mapped headers',
    expects: 'no route has the authorizer, no integration a mapping, and both routes answer 200',
    alone: true,
    async run(scene) {
      const { LeftUrl } = scene.outputs.other
      const ApiId = apiIdIn(LeftUrl)
      await scene.unprotect()
      const { Items: routes = [] } = await scene.clients.http.send(new GetRoutesCommand({ ApiId }))
      const { Items: integrations = [] } = await scene.clients.http.send(new GetIntegrationsCommand({ ApiId }))
      const types = routes.map(({ RouteKey, AuthorizationType }) => `${RouteKey} ${AuthorizationType ?? 'NONE'}`).sort()
      const mapped = JSON.stringify(integrations).match(/\$context\.authorizer\./g)?.length ?? 0
      const statuses: number[] = []
      for (const path of ['l1', 'l2']) statuses.push((await scene.traffic.send(LeftUrl + path)).status)
      return found(
        types.every((type) => type.endsWith(' NONE')) && mapped === 0 && statuses.join() === '200,200',
        `${types.join(', ')}; ${mapped} mapped headers; ${statuses.join(' ')}`,
      )
    },
  },
  {
    id: 'table-again',
    lines: ['table-again'],
    asks: 'A config table with a name that outlived its stack, and the stack deployed again',
    expects: 'it is refused, and taken back with --import-existing-resources',
    onlyAws: 'MiniStack makes a retained table anew',
    alone: true,
    async run(scene) {
      const StackName = `${scene.name}-table`
      const template = tableTemplate(`${scene.name}-config`, scene.account.region)
      const first = await make(scene, StackName, template, false)
      await remove(scene, StackName)
      const again = await make(scene, StackName, template, false)
      await remove(scene, StackName)
      const imported = await make(scene, StackName, template, true)
      await remove(scene, StackName)
      return found(
        first === 'CREATE_COMPLETE' && again !== 'CREATE_COMPLETE' && /^(CREATE|IMPORT)_COMPLETE$/.test(imported),
        `first ${first}, again ${again}, importing ${imported}`,
      )
    },
  },
]
