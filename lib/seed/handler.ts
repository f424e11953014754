import { setTimeout as pause } from 'node:timers/promises'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { apiKey } from '../../lambda/config-table/items/config-keys'
import { AuditTrail } from '../../provisioning/audit-trail'
import { documentsOf } from '../../provisioning/documents'
import type { PolicySetItem } from '../../provisioning/tiers-file'
import { giveLabel, takeLabel } from './api-label'
import { releaseAuthority } from './authority'
import { type Guarded, refuseWhileUsed } from './function-users'
import { type ConfigTables, refuseLostTables } from './lost-tables'
import { seedCode } from './seed-code'
import { seedItems, seedKeyRings } from './seed-items'

/**
 * What CloudFormation sends. @see https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requests.html
 */
export interface SeedRequest {
  readonly RequestType: 'Create' | 'Update' | 'Delete'
  readonly ResponseURL: string
  readonly StackId: string
  readonly RequestId: string
  readonly LogicalResourceId: string
  readonly PhysicalResourceId?: string
  readonly ResourceProperties: {
    /** Of tiers and labels. */
    readonly TableName: string
    /** Of tiers: items as JSON text, since CloudFormation converts numbers to text. */
    readonly Items?: readonly string[]
    /** Of tiers: whether edits of others are undone. @default they are kept */
    readonly Seed?: string
    /** Of an API's label. */
    readonly Api?: { readonly Id: string; readonly Name?: string; readonly Label: string }
    /** Of a deletion guard. */
    readonly Guard?: Guarded & { readonly Refuse: string }
    /** Of a check of config tables. */
    readonly ConfigTables?: ConfigTables
  }
  /** Of an update. */
  readonly OldResourceProperties?: { readonly ConfigTables?: ConfigTables }
}

const documents = documentsOf(new DynamoDBClient({}))
// Fails within the function's time if its network has no route to the service.
const options = {
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 5000, requestTimeout: 10_000, throwOnRequestTimeout: true },
}
const lambda = new LambdaClient(options)
const cloudFormation = new CloudFormationClient(options)

/** DynamoDB applies a new role's permissions after some seconds. */
const ATTEMPTS = 6
const PAUSE_MS = 2000

/**
 * Entry point of the seed function: seeds when a resource is created or changed, and refuses to leave a config table
 * behind. When a resource is deleted, tiers stay, an API's label is removed, and a guard refuses while the limiter is
 * in use.
 */
export async function handler(event: SeedRequest): Promise<void> {
  const { Api, Guard, ConfigTables: tables, TableName } = event.ResourceProperties
  const isCheck = Boolean(Guard ?? tables)
  const own = Api ? apiKey(Api.Id).sk : `${event.LogicalResourceId}-seed`
  const id = Api && event.RequestType !== 'Delete' ? own : (event.PhysicalResourceId ?? own)
  try {
    const done = await patiently(() =>
      Guard ? guard(event, Guard) : tables ? check(event, tables) : Api ? label(event, Api) : tiers(event),
    )
    if (done)
      console.info(JSON.stringify({ level: 'info', message: 'seeded the config table', table: TableName, ...done }))
    await respond(event, id, 'SUCCESS', { Data: Api || isCheck ? {} : outputsOf(done) })
  } catch (error) {
    console.error(error)
    const text = error instanceof Error ? error.message : String(error)
    const Reason = (isCheck ? text : `the config table could not be seeded: ${text}`).slice(0, 1000)
    await respond(event, id, 'FAILED', { Reason })
  }
}

/** Records name the stack that was deployed: CloudFormation does not pass on who deployed it. */
const trailOf = (request: string, stack: string): AuditTrail =>
  new AuditTrail(async () => ({ change: request, by: stack, how: 'deployment' }), Date.now)

/** The result, as it is logged. */
interface Done {
  readonly report: Readonly<Record<string, string>>
  /** Edits of others that were undone: the first of them, and their number. */
  readonly undone?: readonly string[]
  readonly undoneCount?: number
}

async function tiers({
  RequestType,
  StackId,
  LogicalResourceId,
  RequestId: request,
  ResourceProperties: { TableName, Items = [], Seed },
}: SeedRequest): Promise<Done | undefined> {
  const deployment = { request, owner: `${StackId} ${LogicalResourceId}` }
  if (RequestType === 'Delete') {
    if (Seed) await unlessTableIsGone(() => releaseAuthority(documents, TableName, deployment, true))
    return undefined
  }
  const trail = trailOf(request, StackId)
  const items = Items.map((text) => JSON.parse(text) as PolicySetItem)
  // Before the items, so that an interrupted deployment still looks new when it is retried, and so that no subject is
  // counted without the secret.
  if (RequestType === 'Create') await seedKeyRings(documents, TableName, trail)
  if (Seed === 'authoritative')
    return seedCode(documents, TableName, deployment, items, (line) => console.info(JSON.stringify(line)), trail)
  await releaseAuthority(documents, TableName, deployment, false)
  return { report: await seedItems(documents, TableName, items, trail) }
}

async function unlessTableIsGone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if ((error as Error).name !== 'ResourceNotFoundException') throw error
    return undefined
  }
}

/** A guard does nothing until it is deleted: then, and after a failed creation, it lets only an unused limiter go. */
async function guard(
  { RequestType }: SeedRequest,
  { Refuse, ...guarded }: NonNullable<SeedRequest['ResourceProperties']['Guard']>,
): Promise<undefined> {
  if (RequestType === 'Delete' && Refuse === 'true') await refuseWhileUsed(lambda, guarded)
  return undefined
}

async function check(
  { RequestType, StackId, OldResourceProperties }: SeedRequest,
  tables: ConfigTables,
): Promise<undefined> {
  if (RequestType !== 'Delete')
    await refuseLostTables(cloudFormation, StackId, tables, OldResourceProperties?.ConfigTables)
  return undefined
}

/** A response has at most 4096 bytes, and the log has everything. */
const MAX_KEPT = 1000

/** Items that differ from the file and were kept, and those that were undone: `tier#free, route#GET /a`. */
function outputsOf(done: Done | undefined): Readonly<Record<'Kept' | 'Undone', string>> {
  const { report = {}, undone = [], undoneCount = 0 } = done ?? {}
  const kept = Object.entries(report).flatMap(([item, result]) => (result === 'kept' ? [item] : []))
  return { Kept: listOf(kept, kept.length), Undone: listOf(undone, undoneCount) }
}

/** An output must not be empty. */
function listOf(some: readonly string[], count: number): string {
  const all = some.join(', ')
  if (all.length <= MAX_KEPT && some.length === count) return all || 'none'
  const first = all.length <= MAX_KEPT ? all : all.slice(0, MAX_KEPT).replace(/, [^,]*$/, '')
  return `${first}, … (${count} in all, see the log)`
}

/** The physical id is the item's key, so that CloudFormation deletes the label of an API that was replaced. */
async function label(
  {
    RequestType,
    RequestId,
    StackId,
    LogicalResourceId,
    PhysicalResourceId = '',
    ResourceProperties: { TableName },
  }: SeedRequest,
  { Id: id, Name: name, Label }: NonNullable<SeedRequest['ResourceProperties']['Api']>,
): Promise<Done> {
  const trail = trailOf(RequestId, StackId)
  const owner = `${StackId} ${LogicalResourceId}`
  const prefix = apiKey('').sk
  // CloudFormation generates one if it got no answer
  const known = PhysicalResourceId.startsWith(prefix) ? PhysicalResourceId.slice(prefix.length) : id
  if (RequestType !== 'Delete') {
    const replaced = RequestType === 'Update' && known !== id ? known : undefined
    const request = { id, name, label: Label, owner, replaced, isNew: RequestType === 'Create' }
    return { report: { [id]: await giveLabel(documents, TableName, request, trail) } }
  }
  const taken = await unlessTableIsGone(() => takeLabel(documents, TableName, known, owner, trail))
  return { report: { [known]: taken ?? 'gone with its table' } }
}

async function patiently<T>(seed: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await seed()
    } catch (error) {
      if (attempt === ATTEMPTS || !/^(AccessDenied(Exception)?|WriteConflictError)$/.test((error as Error).name))
        throw error
      await pause(PAUSE_MS)
    }
  }
}

/** The response goes to a signed URL without a content type; `fetch` would send one with a string body. */
async function respond(
  event: SeedRequest,
  PhysicalResourceId: string,
  Status: 'SUCCESS' | 'FAILED',
  more: { readonly Reason?: string; readonly Data?: Readonly<Record<string, string>> },
): Promise<void> {
  const { StackId, RequestId, LogicalResourceId } = event
  const answer = { Status, Reason: '', StackId, RequestId, LogicalResourceId, PhysicalResourceId, ...more }
  const response = await fetch(event.ResponseURL, {
    method: 'PUT',
    body: new TextEncoder().encode(JSON.stringify(answer)),
  })
  if (!response.ok) throw new Error(`CloudFormation’s response URL answered ${response.status}`)
}
