import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine } from '../../local/engines/engine'
import { startEngineProcess } from '../../local/engines/engine-process'
import { freePort } from '../../local/engines/free-port'

/** Where `.ci/dynamodb-local` puts the jars. */
const JARS = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice', 'dynamodb-local-3.1.0')

/** Java takes seconds to start, and a busy machine makes that many. */
const ANSWERS_WITHIN_MS = 90_000

/**
 * AWS's own DynamoDB Local in memory: the judge where engines differ. Fails with the command that downloads it where it
 * is not there.
 */
export async function startDynamoDbLocal(): Promise<Engine> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-dynamodb-local-')) // it leaves a file where it runs
  const engine = await startEngineProcess({
    name: 'DynamoDB Local',
    endpoint: `http://127.0.0.1:${port}`,
    ...dynamoDbLocalCommand(port, ['-inMemory']),
    cwd: folder,
    env: { ...process.env, DDB_LOCAL_TELEMETRY: '0' },
    answersWithinMs: ANSWERS_WITHIN_MS,
  })
  return {
    ...engine,
    async stop() {
      await engine.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** How it is started. @param keeping where its tables are kept: `-inMemory`, or `-dbPath` and a folder. */
export function dynamoDbLocalCommand(
  port: number,
  keeping: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  if (!existsSync(JARS)) throw new Error(`DynamoDB Local is not in ${JARS}: bash .ci/dynamodb-local puts it there`)
  const jars = ['-cp', join(JARS, '*'), `-Djava.library.path=${JARS}`, `-Dsqlite4java.library.path=${JARS}`]
  const server = 'software.amazon.dynamodb.services.local.main.ServerRunner'
  return { command: 'java', args: [...jars, server, ...keeping, '-sharedDb', '-port', String(port)] }
}
