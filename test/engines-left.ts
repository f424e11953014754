import { DeleteTableCommand, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { connect } from '../local/dynamodb'
import { dynoxideBinary, startDynoxide } from '../local/engines/dynoxide'
import type { Engine } from '../local/engines/engine'

interface Left {
  /** Where dynoxide is, or `none` where it does not run. */
  binary?: string
  /** Endpoints of engines without tables, which nobody uses. */
  readonly engines: string[]
}

/**
 * Outlives a suite, see test/jest/environment.js; a program that is no suite has its own. It has nothing but texts,
 * since an object would keep all modules of its suite.
 */
const left = (globalThis as { readonly leftInWorker?: Left }).leftInWorker ?? ({ engines: [] } as Left)

/** Whether dynoxide runs here: asked once in each worker, since it takes a process. */
export const runsDynoxide = (): boolean => {
  left.binary ??= dynoxideBinary() ?? 'none'
  return left.binary !== 'none'
}

/** An engine without tables for a suite, which leaves it to the next one by stopping it. It ends with the worker. */
export async function dynoxide(): Promise<Engine> {
  const endpoint = left.engines.pop() ?? (await startDynoxide(left.binary!, undefined, true)).endpoint
  let isLeft = false
  return {
    name: 'dynoxide',
    endpoint,
    async stop() {
      if (isLeft) return
      isLeft = true
      await deleteTables(endpoint)
      left.engines.push(endpoint)
    },
  }
}

async function deleteTables(endpoint: string): Promise<void> {
  const client = connect(endpoint)
  const { TableNames = [] } = await client.send(new ListTablesCommand())
  for (const TableName of TableNames) await client.send(new DeleteTableCommand({ TableName }))
  client.destroy()
}
