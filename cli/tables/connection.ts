import { CloudFormationClient, DescribeStacksCommand, type Stack } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { Option } from 'commander'
import type { AuditTrail } from '../../provisioning/audit-trail'
import { documentsOf } from '../../provisioning/documents'
import { failureOf, UserError } from '../exit'
import { DynamoDbStore } from '../facade/tables'
import type { Io } from '../terminal/io'
import { type RecordedRun, trailOf, unnamedRun } from './author'
import { ConfigTable } from './config-table'
import type { LocalGateway } from './gateway-files'
import { chooseLimiter, type Limiter, limitersIn, NoLimiterError } from './limiters'
import { isLoopback, LOCAL_TABLES, localAwsEnvironment } from './local-engine'
import { isLogNamed, onlyGateway } from './local-gateway'
import { onlyDynamoDb } from './only-dynamodb'
import { onWritten } from './write-targets'

/** The options that say where the tables are. */
export interface TableOptions {
  readonly endpoint?: string
  readonly region?: string
  readonly table?: string
  readonly stateTable?: string
  readonly stack?: string
  readonly limiter?: string
  /** What a command reads beside the tables, where it has such an option. */
  readonly log?: readonly string[]
  readonly logGroup?: string
}

type TableKind = 'config' | 'state'

const OPTIONS = [
  ['--endpoint <url>', 'URL of another DynamoDB, such as sluice dev’s (SLUICE_DYNAMODB_ENDPOINT)'],
  ['--region <name>', 'AWS Region (default: AWS_REGION or profile)'],
  ['--table <name>', 'config table (default: SLUICE_CONFIG_TABLE, or the stack’s)'],
  ['--state-table <name>', 'state table (default: SLUICE_STATE_TABLE, or the stack’s)'],
  ['--stack <name>', 'CloudFormation stack whose outputs name the tables'],
  ['--limiter <name>', 'which of several limiters: stack/path, or one of the two'],
] as const

/** A first connection takes longer than any call after it. */
const TIMEOUTS = { connectionTimeout: 5000, requestTimeout: 15_000, throwOnRequestTimeout: true }

/** The options that say where the tables are. */
export const tableOptions = (): Option[] =>
  OPTIONS.map(([flags, description]) => new Option(flags, description).helpGroup('Where:'))

/** Finds the tables: by the command line, else by the environment, else by the outputs of deployed limiters. */
export class Connection {
  readonly client: DynamoDBClient
  private readonly documents: DynamoDBDocumentClient
  /** `undefined`: the Region's own. */
  readonly endpoint: string | undefined
  private readonly settings: { readonly region?: string; readonly credentials?: Credentials }
  private limiter: Promise<Limiter> | undefined
  private limiterUsed: string | undefined
  private readonly written = new Set<string>()
  private readonly trail: AuditTrail

  /**
   * @param tell gets a sentence about which limiter was taken, where nobody named it.
   * @param run what makes the changes that are recorded, and when.
   */
  constructor(
    private readonly where: TableOptions,
    private readonly env: Io['env'],
    private readonly tell: (text: string) => void = () => {},
    run: RecordedRun = unnamedRun(),
  ) {
    this.endpoint = endpointOf(where, env)
    if (this.endpoint !== undefined && !where.endpoint && where.region)
      tell(`tables at ${this.endpoint}, by SLUICE_DYNAMODB_ENDPOINT`)
    this.settings = settingsOf(where, env, this.endpoint)
    this.client = new DynamoDBClient({ ...this.settings, endpoint: this.endpoint, requestHandler: TIMEOUTS })
    onlyDynamoDb(this.client, this.endpoint)
    onWritten(this.client, (table) => this.written.add(table))
    this.documents = documentsOf(this.client)
    this.trail = trailOf(run, this.client, this.endpoint, env)
  }

  /** The Region in force; throws like a call when there is none. */
  region(): Promise<string> {
    return this.client.config.region()
  }

  /** The tables of these kinds, in words: `table sluice-config at http://127.0.0.1:8000`. */
  async describe(...kinds: readonly TableKind[]): Promise<string> {
    return this.tablesText(await Promise.all(kinds.map((kind) => this.tableName(kind))))
  }

  /** Tables that were written to, in words; `undefined` where none was. */
  async targets(): Promise<string | undefined> {
    return this.written.size === 0 ? undefined : this.tablesText([...this.written])
  }

  private async tablesText(names: readonly string[]): Promise<string> {
    const place = this.endpoint === undefined ? `in ${await this.region()}` : `at ${this.endpoint}`
    return `table${names.length === 1 ? '' : 's'} ${names.join(' and ')} ${place}`
  }

  async configTable(): Promise<ConfigTable> {
    return new ConfigTable(this.documents, await this.tableName('config'), this.trail)
  }

  async stateStore(): Promise<DynamoDbStore> {
    return new DynamoDbStore({ client: this.client, tableName: await this.tableName('state') })
  }

  /** The limiter whose outputs named the tables; `undefined` where something else named both. */
  async foundLimiter(): Promise<Limiter | undefined> {
    return this.limiter
  }

  /** Where the names of the tables come from, in words. */
  foundBy(): string {
    if (this.limiterUsed !== undefined) return `the outputs of limiter ${this.limiterUsed}`
    return this.where.table || this.where.stateTable
      ? 'the command line'
      : this.env.SLUICE_CONFIG_TABLE
        ? 'the environment'
        : 'the names that sluice dev uses'
  }

  async tableName(kind: TableKind): Promise<string> {
    const stated = kind === 'config' ? this.where.table : this.where.stateTable
    const set = kind === 'config' ? this.env.SLUICE_CONFIG_TABLE : this.env.SLUICE_STATE_TABLE
    if (stated) return stated
    if (this.where.stack === undefined && this.where.limiter === undefined) {
      if (set) return set
      if (this.endpoint !== undefined) return LOCAL_TABLES[kind]
    }
    this.limiter ??= this.findLimiter()
    const { name, tables } = await this.limiter
    this.limiterUsed = name
    return tables![kind]
  }

  close(): void {
    this.client.destroy()
  }

  /** @throws NoLimiterError where there is none, or several and none is chosen. */
  private async findLimiter(): Promise<Limiter> {
    const { stack, limiter } = this.where
    try {
      const all = await this.limitersOf(stack)
      const region = await this.region()
      const isNamed = stack !== undefined || limiter !== undefined
      const gateway = isNamed || isLogNamed(this.where) ? undefined : await onlyGateway(this.env)
      if (gateway) throw new UserError(besideGateway(gateway, all, region))
      if (all.length === 0) throw noLimiter(stack, region)
      const found = chooseLimiter(all, limiter, stack === undefined ? region : `stack ${stack}`)
      if (!isNamed) this.tell(`limiter ${found.name} in ${region}`)
      return found
    } catch (error) {
      const known = toStackError(error, stack)
      if (this.endpoint === undefined || known instanceof UserError) throw known
      const option = stack === undefined ? '--limiter' : '--stack'
      const way = this.where.endpoint ? 'leave one of the two out' : 'unset SLUICE_DYNAMODB_ENDPOINT, or leave it out'
      throw new UserError(
        `${option} needs CloudFormation, which does not answer at ${this.endpoint} (${failureOf(error).message}): ${way}`,
      )
    }
  }

  /** The limiters with tables, of a stack or of all in the Region. */
  async limitersOf(stack?: string): Promise<Limiter[]> {
    const client = new CloudFormationClient({ ...this.settings, endpoint: this.endpoint, requestHandler: TIMEOUTS })
    try {
      const stacks = await stacksOf(client, stack)
      return stacks.flatMap(limitersIn).filter(({ tables }) => tables !== undefined)
    } finally {
      client.destroy()
    }
  }
}

function besideGateway({ address, dynamodb }: LocalGateway, all: readonly Limiter[], region: string): string {
  const endpoint = `--endpoint ${dynamodb}`
  return all.length === 0
    ? `no table: there is no limiter in ${region}, and a local gateway runs at ${address}: use ${endpoint}`
    : `a local gateway runs at ${address}, and in ${region} there is ${all.map(({ name }) => name).join(', ')}: choose with ${endpoint}, or with --limiter`
}

const noLimiter = (stack: string | undefined, region: string): UserError =>
  stack === undefined
    ? new NoLimiterError(
        `no table: no stack in ${region} has the outputs of a limiter; use --table and --state-table, or --endpoint`,
      )
    : new NoLimiterError(`stack "${stack}" has no outputs of a limiter: use --table and --state-table`)

interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

function endpointOf({ endpoint }: TableOptions, env: Io['env']): string | undefined {
  const [url, name] = endpoint
    ? [endpoint, '--endpoint']
    : [env.SLUICE_DYNAMODB_ENDPOINT || undefined, 'SLUICE_DYNAMODB_ENDPOINT']
  if (url === undefined) return undefined
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UserError(`${name} must be a URL such as http://localhost:8000, got "${url}"`)
  }
  return url
}

/** For a local engine the credentials of `sluice dev`; else those that the SDK finds: environment, profile, role. */
function settingsOf({ region }: TableOptions, env: Io['env'], endpoint: string | undefined): Connection['settings'] {
  if (endpoint === undefined || !isLoopback(endpoint)) {
    const known = region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION)
    return known ? { region: known } : {}
  }
  const local = localAwsEnvironment(env)
  return {
    region: region ?? local.AWS_REGION,
    credentials: {
      accessKeyId: local.AWS_ACCESS_KEY_ID,
      secretAccessKey: local.AWS_SECRET_ACCESS_KEY,
      sessionToken: local.AWS_SESSION_TOKEN,
    },
  }
}

async function stacksOf(client: CloudFormationClient, name: string | undefined): Promise<Stack[]> {
  const stacks: Stack[] = []
  let NextToken: string | undefined
  do {
    const page = await client.send(new DescribeStacksCommand({ StackName: name, NextToken }))
    stacks.push(...(page.Stacks ?? []))
    NextToken = page.NextToken
  } while (NextToken)
  return stacks
}

function toStackError(error: unknown, stack: string | undefined): unknown {
  if (error instanceof Error && error.name === 'ValidationError' && stack !== undefined)
    return new NoLimiterError(
      `there is no stack "${stack}" here: if it was deleted, name its config table with --table`,
    )
  if (error instanceof Error && /AccessDenied/.test(error.name)) {
    return new UserError(`cannot list stacks, use --table and --state-table: ${failureOf(error).message}`)
  }
  return error
}
