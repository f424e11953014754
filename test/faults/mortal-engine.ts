import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { untilItAnswers } from '../../local/engines/answers'
import { dynoxideBinary } from '../../local/engines/dynoxide'
import type { Engine } from '../../local/engines/engine'
import { freePort } from '../../local/engines/free-port'
import { dynamoDbLocalCommand } from '../engines/dynamodb-local'

/** An engine that can be killed and restarted at the same address. */
export interface MortalEngine extends Engine {
  /** Whether its tables survive a restart. */
  readonly remembers: boolean
  /** `kill -9`: requests under way are never answered. */
  kill(): Promise<void>
  /** Starts it again, and returns when it answers. */
  revive(): Promise<void>
}

interface Command {
  readonly name: string
  readonly remembers: boolean
  readonly command: string
  readonly args: readonly string[]
}

/** dynoxide in memory: its tables are lost when it is killed. */
export const forgetfulDynoxide = (): Promise<MortalEngine> =>
  start((port) => ({
    name: 'dynoxide',
    remembers: false,
    command: dynoxideBinary()!,
    args: ['--host', '127.0.0.1', '--port', String(port)],
  }))

/** The same with its tables in a file. */
export const lastingDynoxide = (): Promise<MortalEngine> =>
  start((port, folder) => ({
    name: 'dynoxide with a file',
    remembers: true,
    command: dynoxideBinary()!,
    args: ['--host', '127.0.0.1', '--port', String(port), '--db-path', join(folder, 'tables')],
  }))

/** DynamoDB Local with its tables in a file. */
export const lastingDynamoDbLocal = (): Promise<MortalEngine> =>
  start((port, folder) => ({
    name: 'DynamoDB Local',
    remembers: true,
    ...dynamoDbLocalCommand(port, ['-dbPath', folder]),
  }))

async function start(commandAt: (port: number, folder: string) => Command): Promise<MortalEngine> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mortal-'))
  const { name, remembers, command, args } = commandAt(port, folder)
  const endpoint = `http://127.0.0.1:${port}`
  let child: ChildProcess
  const revive = async () => {
    child = spawn(command, args, { cwd: folder, stdio: 'ignore', env: { ...process.env, DDB_LOCAL_TELEMETRY: '0' } })
    await untilItAnswers(endpoint, 90_000)
  }
  const kill = async () => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  await revive()
  return {
    name,
    endpoint,
    remembers,
    kill,
    revive,
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
