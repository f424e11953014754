import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeleteItemCommand, type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb'
import { run } from '../../bin/main'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { awsEnvironment } from '../../local/dynamodb'
import type { Engine, EngineName } from '../../local/engines/engine'
import { restEvent } from '../authorize/gateway'
import { type Deployment, deploy, type Said } from '../cli/command-line'
import { Bundle } from '../faults/instance'

/**
 * What is deployed at the same time: what this checkout makes, and what stands in fixtures; README.md says how they
 * were made.
 */
export type Release = 'old' | 'new'

const OLD_AUTHORIZER = join(__dirname, 'authorizer-b620fa4', 'index.js')
const OLD_CLI = join(__dirname, 'cli-b620fa4.js')

export interface Asked {
  readonly method?: string
  readonly path?: string
  readonly key?: string
  readonly ip?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What an authorizer's answer says. */
export interface Answered {
  /** `401` where it threw that. */
  readonly effect: 'Allow' | 'Deny' | '401'
  readonly reason: string
  readonly tier: string
  readonly policy: string
  readonly limit: number
  readonly remaining: number
  readonly degraded: boolean
  readonly subject: string
}

/** A function instance of one release. */
export interface Authorizer {
  readonly release: Release
  /** Of a REST API. */
  ask(asked: Asked): Promise<Answered>
  /** What it has logged of level `error` and `warn`: messages, once each. */
  complaints(): string[]
}

/** Both tables, and both releases at work on them. */
export interface Rollout extends Deployment {
  /** A new instance, which has asked for nothing yet. */
  authorizer(release: Release, environment?: Readonly<Record<string, string>>): Authorizer
  /**
   * One command. Fails with what it says where its exit code is not 0. @returns what it prints, parsed if it is JSON.
   */
  // biome-ignore lint/suspicious/noExplicitAny: what it is stands in the test
  cli(release: Release, ...args: string[]): Promise<any>
  /** Empties both tables. */
  clear(): Promise<void>
  /** The same, whatever its exit code. */
  said(release: Release, ...args: string[]): Promise<Said>
}

const OLD_RUN: typeof run = (...args) => require(OLD_CLI).run(...args)

export async function rollOut(engine: EngineName | Engine): Promise<Rollout> {
  Object.assign(process.env, awsEnvironment(), { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' })
  const folder = mkdtempSync(join(tmpdir(), 'sluice-releases-'))
  const bundles = { old: new Bundle(OLD_AUTHORIZER), new: new Bundle(buildAuthorizerBundle(folder)) }
  const at = await deploy(engine)
  const said: Rollout['said'] = (release, ...args) => at.sluice(args, { run: release === 'old' ? OLD_RUN : run })
  return {
    ...at,
    authorizer: (release, environment = {}) =>
      open(release, bundles[release], { ...environmentOf(at.endpoint), ...environment }),
    said,
    async cli(release, ...args) {
      const { code, out, err } = await said(release, ...args)
      if (code !== 0) throw new Error(`${release} sluice ${args.join(' ')}: exit code ${code}: ${err}${out}`)
      return /^\s*[[{]/.test(out) ? JSON.parse(out) : out.trim()
    },
    async clear() {
      await empty(at.client, LOCAL_TABLES.state, ['pk'])
      await empty(at.client, LOCAL_TABLES.config, ['pk', 'sk'])
    },
    async close() {
      await at.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function empty(client: DynamoDBClient, TableName: string, keys: readonly string[]): Promise<void> {
  const { Items = [] } = await client.send(new ScanCommand({ TableName, ConsistentRead: true }))
  for (const item of Items) {
    const Key = Object.fromEntries(keys.map((key) => [key, item[key]!]))
    await client.send(new DeleteItemCommand({ TableName, Key }))
  }
}

const environmentOf = (endpoint: string) => ({
  SLUICE_STATE_TABLE: LOCAL_TABLES.state,
  SLUICE_CONFIG_TABLE: LOCAL_TABLES.config,
  SLUICE_DYNAMODB_ENDPOINT: endpoint,
  SLUICE_DEADLINE_MS: '5000', // a busy machine is no outage
})

function open(release: Release, bundle: Bundle, environment: Readonly<Record<string, string>>): Authorizer {
  const instance = bundle.open(environment)
  return {
    release,
    async ask(asked) {
      try {
        const answer = (await instance.handle(restEvent(asked))) as {
          readonly context: Omit<Answered, 'effect'>
          readonly policyDocument: { readonly Statement: readonly [{ readonly Effect: 'Allow' | 'Deny' }] }
        }
        return { ...answer.context, effect: answer.policyDocument.Statement[0].Effect }
      } catch (error) {
        if ((error as Error).message !== 'Unauthorized') throw error
        return { effect: '401' } as Answered
      }
    },
    complaints() {
      const lines = instance.log.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
      return [
        ...new Set(
          lines.filter(({ level }) => level === 'error' || level === 'warn').map(({ event }) => event as string),
        ),
      ]
    },
  }
}

/** What any of them has complained about. */
export const complaintsOf = (authorizers: readonly Authorizer[]): string[] => [
  ...new Set(authorizers.flatMap((one) => one.complaints())),
]

/** Asks one after another, each the next of these instances, and counts whom they allow. */
export async function allowedInTurn(authorizers: readonly Authorizer[], times: number, asked: Asked): Promise<number> {
  let allowed = 0
  for (let i = 0; i < times; i++) {
    const { effect, degraded } = await authorizers[i % authorizers.length]!.ask(asked)
    if (degraded) throw new Error(`request ${i} was decided without the store`)
    if (effect === 'Allow') allowed++
  }
  return allowed
}
