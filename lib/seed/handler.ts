import { setTimeout as pause } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { PolicySetItem } from '../../lambda/tiers/tiers-file'
import { seedHmacKey, seedItems } from './seed-items'

/** What CloudFormation sends. @see https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-requests.html */
export interface SeedRequest {
  readonly RequestType: 'Create' | 'Update' | 'Delete'
  readonly ResponseURL: string
  readonly StackId: string
  readonly RequestId: string
  readonly LogicalResourceId: string
  readonly PhysicalResourceId?: string
  /** Items as JSON texts, since CloudFormation makes texts of numbers. */
  readonly ResourceProperties: { readonly TableName: string; readonly Items?: readonly string[] }
}

const client = new DynamoDBClient({})

/** A new role's permissions take some seconds until DynamoDB knows them. */
const ATTEMPTS = 6
const PAUSE_MS = 2000

/** Entry point of the seed function: seeds when the resource is made or changed, and leaves everything as it is when it goes. */
export async function handler(event: SeedRequest): Promise<void> {
  try {
    if (event.RequestType !== 'Delete') {
      const { TableName, Items = [] } = event.ResourceProperties
      const items = Items.map((text) => JSON.parse(text) as PolicySetItem)
      const report = await patiently(async () => {
        // Before the items, so that a deployment that breaks off in between still looks new when it is tried again, and so that nobody is counted without it.
        if (event.RequestType === 'Create') await seedHmacKey(client, TableName)
        return seedItems(client, TableName, items)
      })
      console.info(JSON.stringify({ level: 'info', message: 'seeded the config table', table: TableName, report }))
    }
    await respond(event, 'SUCCESS')
  } catch (error) {
    console.error(error)
    await respond(event, 'FAILED', `the config table could not be seeded: ${error instanceof Error ? error.message : error}`)
  }
}

async function patiently<T>(seed: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await seed()
    } catch (error) {
      if (attempt === ATTEMPTS || (error as Error).name !== 'AccessDeniedException') throw error
      await pause(PAUSE_MS)
    }
  }
}

/** The answer goes to a signed address, which knows no content type; `fetch` would send one with a text. */
async function respond(event: SeedRequest, Status: 'SUCCESS' | 'FAILED', Reason = ''): Promise<void> {
  const { StackId, RequestId, LogicalResourceId, PhysicalResourceId = `${LogicalResourceId}-seed` } = event
  const answer = { Status, Reason: Reason.slice(0, 1000), StackId, RequestId, LogicalResourceId, PhysicalResourceId }
  const response = await fetch(event.ResponseURL, { method: 'PUT', body: new TextEncoder().encode(JSON.stringify(answer)) })
  if (!response.ok) throw new Error(`CloudFormation's address answered ${response.status}`)
}
