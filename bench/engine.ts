import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DynamoDB, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { dynoxideBinary, startDynoxide } from '../local/engines/dynoxide'
import type { EngineName } from '../local/engines/engine'
import { StartError } from '../local/start-error'

/** A DynamoDB in a process of its own, so that its work is not counted as the client's. */
export interface BenchEngine {
  readonly name: EngineName
  readonly endpoint: string
  stop(): Promise<void>
}

/**
 * @param wish the name of an engine, which is never replaced by another. @default dynoxide where it runs, else
 * dynalite
 */
export async function startBenchEngine(wish: EngineName | undefined): Promise<BenchEngine> {
  const binary = wish === 'dynalite' ? undefined : dynoxideBinary()
  if (binary !== undefined) return { ...(await startDynoxide(binary)), name: 'dynoxide' }
  if (wish === 'dynoxide')
    throw new StartError('dynoxide does not run here: it needs Linux on x64. Leave --engine out to use dynalite')
  return startDynaliteApart()
}

async function startDynaliteApart(): Promise<BenchEngine> {
  const child = fork(join(__dirname, 'children', 'dynalite.ts'), {
    execArgv: ['--require', require.resolve('tsx/cjs')],
  })
  const [endpoint] = await once(child, 'message')
  return {
    name: 'dynalite',
    endpoint,
    stop: async () => {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

export const REGION = 'us-east-1'
export const CREDENTIALS = { accessKeyId: 'bench', secretAccessKey: 'bench' }

const settings = (endpoint: string): DynamoDBClientConfig => ({
  endpoint,
  region: REGION,
  credentials: CREDENTIALS,
  maxAttempts: 1,
})

/** A client that counts its calls. All products that are compared have the same settings. */
export class CountingClient extends DynamoDB {
  calls = 0

  constructor({ endpoint }: BenchEngine) {
    super(settings(endpoint))
    const send = this.send.bind(this) as (...args: unknown[]) => unknown
    this.send = ((...args: unknown[]) => {
      this.calls++
      return send(...args)
    }) as typeof this.send
  }
}
