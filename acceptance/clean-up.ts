import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteRestApiCommand, GetRestApisCommand } from '@aws-sdk/client-api-gateway'
import { DeleteStackCommand, paginateDescribeStacks, type Stack } from '@aws-sdk/client-cloudformation'
import { DeleteTableCommand, paginateListTables } from '@aws-sdk/client-dynamodb'
import type { Clients } from './scene'

/** What is called by the name of a run. */
interface Remains {
  readonly stacks: readonly Stack[]
  readonly tables: readonly string[]
  readonly apis: readonly { readonly id?: string; readonly name?: string }[]
}

/** How long stacks are waited for. A function in no VPC is gone within minutes. */
const WAIT_MS = 20 * 60_000

/** By the name of a run it can be destroyed later, too. */
export const RUN_NAME = /^sluice-acceptance-[0-9a-f]{8}$/

/**
 * Destroys what a run has made, whatever state it is in.
 *
 * @returns what is left, a line each; nothing is left of most.
 */
export async function cleanUp(
  name: string,
  clients: Clients,
  print: (text: string) => void,
  everyMs: number,
): Promise<string[]> {
  const failures: string[] = []
  const attempt = async (what: string, send: () => Promise<unknown>) => {
    try {
      await send()
    } catch (error) {
      failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const asked = new Set<string>()
  const deadline = Date.now() + WAIT_MS
  for (let stacks = await stacksOf(name, clients); stacks.length > 0; stacks = await stacksOf(name, clients)) {
    if (Date.now() > deadline) break
    // One that others import from is refused until they are gone, and one that changes until it has.
    const still = stacks.filter(({ StackStatus: status }) => !/_IN_PROGRESS$|^DELETE_FAILED$/.test(status ?? ''))
    const begun = stacks.filter(({ StackStatus: status }) => /^(CREATE|REVIEW)_IN_PROGRESS$/.test(status ?? ''))
    const failed = stacks.filter(({ StackStatus: status }) => status === 'DELETE_FAILED')
    if (failed.length === stacks.length && failed.every(({ StackId = '' }) => asked.has(`again ${StackId}`))) break
    for (const { StackName, StackId = '', StackStatus } of inOrder([...still, ...begun, ...failed])) {
      const key = StackStatus === 'DELETE_FAILED' ? `again ${StackId}` : StackId
      if (asked.has(key) && StackStatus !== 'CREATE_COMPLETE' && StackStatus !== 'UPDATE_COMPLETE') continue
      asked.add(key)
      print(`destroying ${StackName}`)
      await attempt(`stack ${StackName}`, () => clients.stacks.send(new DeleteStackCommand({ StackName })))
    }
    await sleep(everyMs)
  }
  const { tables, apis } = await remainsOf(name, clients)
  for (const TableName of tables)
    await attempt(`table ${TableName}`, () => clients.tables.send(new DeleteTableCommand({ TableName })))
  for (const { id, name: called } of apis)
    await attempt(`API ${called}`, () => clients.rest.send(new DeleteRestApiCommand({ restApiId: id })))
  const left = await goneSoon(name, clients, everyMs)
  return left.length === 0 ? [] : [...left, ...failures]
}

/** Tables and APIs are gone some seconds after they were deleted. */
async function goneSoon(name: string, clients: Clients, everyMs: number): Promise<string[]> {
  for (let attempt = 0; ; attempt++) {
    const { stacks, tables, apis } = await remainsOf(name, clients)
    const left = [
      ...stacks.map(({ StackName, StackStatus }) => `stack ${StackName} (${StackStatus})`),
      ...tables.map((table) => `table ${table}`),
      ...apis.map(({ id, name: called }) => `REST API ${id} (${called})`),
    ]
    if (left.length === 0 || attempt === 10 || stacks.length > 0) return left
    await sleep(everyMs)
  }
}

/** The limiter's stack comes last: others import from it. */
const inOrder = (stacks: readonly Stack[]): Stack[] =>
  [...stacks].sort(
    (one, other) =>
      Number(one.StackName?.endsWith('-limiter') ?? false) - Number(other.StackName?.endsWith('-limiter') ?? false),
  )

async function stacksOf(name: string, { stacks }: Clients): Promise<Stack[]> {
  const all: Stack[] = []
  for await (const { Stacks = [] } of paginateDescribeStacks({ client: stacks }, {})) all.push(...Stacks)
  return all.filter(
    ({ StackName = '', StackStatus }) => StackName.startsWith(`${name}-`) && StackStatus !== 'DELETE_COMPLETE',
  )
}

async function remainsOf(name: string, clients: Clients): Promise<Remains> {
  const tables: string[] = []
  for await (const { TableNames = [] } of paginateListTables({ client: clients.tables }, {})) tables.push(...TableNames)
  const { items = [] } = await clients.rest.send(new GetRestApisCommand({ limit: 500 }))
  return {
    stacks: await stacksOf(name, clients),
    tables: tables.filter((one) => one.startsWith(`${name}-`)),
    apis: items.filter(({ name: called }) => called?.startsWith(`${name}-`)),
  }
}
