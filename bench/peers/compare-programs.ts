import { DynamoDB } from '@aws-sdk/client-dynamodb'
import { createStateTable } from '../../limiter'
import { CREDENTIALS, REGION } from '../engine'
import { createRivalTable } from '../rival'
import { buildProgram, countLines, type Weight, weighWithoutSdk } from './build-program'
import { PROGRAMS, type Program, type StoreName } from './programs'
import { type Calls, LIMIT, type Outage, type OutageResult, tryLimit, tryOutage } from './try-program'
import { startUpstashRedis } from './upstash-redis'

/** What was measured of a program. */
export interface Measured {
  readonly program: Program
  readonly lines: number
  readonly start: Weight
  readonly withoutSdk: Weight
  readonly calls: Calls
  /** Absent for a program without a store. */
  readonly outages?: Readonly<Record<Outage, OutageResult>>
}

/** The stores of all programs on this machine, by name, with the tables that they expect. */
export interface Stores {
  readonly endpoints: Readonly<Record<StoreName, string>>
  stop(): Promise<void>
}

/** @param dynamodb the URL of an engine without these tables. */
export async function openStores(dynamodb: string): Promise<Stores> {
  const client = new DynamoDB({ endpoint: dynamodb, region: REGION, credentials: CREDENTIALS })
  await createStateTable(client, 'limits')
  await createRivalTable(client, 'node-rate-limiter-flexible')
  client.destroy()
  const upstash = await startUpstashRedis()
  return { endpoints: { DynamoDB: dynamodb, 'Upstash Redis': upstash.endpoint }, stop: upstash.stop }
}

/** Weighs and runs every program, one after the other. */
export async function measurePrograms({ endpoints }: Stores, log: (text: string) => void): Promise<Measured[]> {
  const all: Measured[] = []
  for (const program of PROGRAMS) {
    log(`${program.file} …`)
    const { script, start } = buildProgram(program)
    const sizes = { lines: countLines(program), start, withoutSdk: weighWithoutSdk(program) }
    const store = program.store && endpoints[program.store]
    const measured = { program, ...sizes, calls: await tryLimit(script, store) }
    if (store === undefined) all.push(measured)
    else {
      const down = await tryOutage(script, store, 'down')
      all.push({ ...measured, outages: { down, slow: await tryOutage(script, store, 'slow') } })
    }
  }
  return all
}

/** What Sluice's programs do without their store that they must not: let more than the limit pass, or not answer. */
export const wrongPrograms = (all: readonly Pick<Measured, 'program' | 'outages'>[]): string[] =>
  all
    .filter(({ program, outages }) => program.packages.length === 0 && outages && !Object.values(outages).every(holds))
    .map(({ program }) => program.file)

const holds = ({ first, crowd }: OutageResult): boolean =>
  first.status === 200 &&
  (crowd.get(200) ?? 0) <= LIMIT &&
  [...crowd.keys()].every((status) => status === 200 || status === 429)
