import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { makeAuthorizer } from '../../lambda/authorize'
import type { AuthorizerParts } from '../../lambda/authorizer-parts'
import { Plans } from '../../lambda/charge-plans'
import { Clients } from '../../lambda/config-table/clients'
import { AccessList } from '../../lambda/config-table/items/access-list'
import { clientKey } from '../../lambda/config-table/items/config-keys'
import { keyRingItem, type RingKey, type RingKind } from '../../lambda/config-table/items/key-ring'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { KeyRings } from '../../lambda/config-table/key-rings'
import { hashApiKey } from '../../lambda/identity/api-key'
import { Sources } from '../../lambda/identity/sources'
import { RateLimiter } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { tieredLimiter } from '../../tiered/tiered-limiter'
import { FakeClock, FakeLog } from '../config-table/fake-table'
import webSocket from '../responses/events/websocket-connect.json'
import { httpEvent, restEvent } from './gateway'

/** The fronts at which a key may be shown. The tiered one knows no address: AppSync, queues. */
export const FRONTS = ['rest', 'http', 'websocket', 'tiered'] as const
export type Front = (typeof FRONTS)[number]

/** Everybody needs a key that the config table knows, and the default number of unknown ones is looked up. */
const POLICIES = parseTiersFile(
  {
    tiers: {
      anonymous: { credentials: 'required', policies: [] },
      free: { policies: [{ name: 'p', limit: 1_000_000, window: '1h' }] },
    },
  },
  'tiers',
)

const NO_TOKENS = () => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) as const })

/** One config table, by which any number of instances decide, on one clock. */
export class SignedKeysWorld {
  readonly clock = new FakeClock()
  readonly log = new FakeLog()
  /** Partition keys of clients that were looked up. */
  lookUps: string[] = []
  isAway = false
  /** All that was answered, whole. */
  readonly answers: string[] = []
  private readonly items = new Map<string, Record<string, unknown>>()

  setRing(kind: RingKind, keys: readonly RingKey[]): void {
    this.items.set(kind.name, keyRingItem(kind, keys))
  }

  setClient(apiKey: string, client: object | undefined = { id: 'acme', tier: 'free' }): void {
    const key = clientKey(hashApiKey(apiKey))
    this.items.set(key.pk, { ...key, ...client })
  }

  deleteClient(apiKey: string): void {
    this.items.delete(clientKey(hashApiKey(apiKey)).pk)
  }

  /** A new instance, and why it decides about a request with this key as it does. */
  instance(): (front: Front, apiKey?: string) => Promise<string> {
    const parts = this.parts()
    const authorize = makeAuthorizer(parts)
    const tiered = tieredLimiter(parts, async () => {})
    return async (front, key) => {
      try {
        const asked = { method: 'POST', path: '/graphql', apiKey: key }
        const answer = await (front === 'tiered' ? tiered.decide(asked) : authorize(eventOf[front](key)))
        this.answers.push(JSON.stringify(answer))
        return answer.context.reason
      } catch (error) {
        this.answers.push(String(error))
        return (error as Error).message === 'Unauthorized' ? 'unauthorized' : 'unverified'
      }
    }
  }

  private parts(): AuthorizerParts & { readonly limiter: RateLimiter } {
    const client = { send: async (command: unknown) => this.answer(command as never) } as never
    const { clock, log } = this
    const reading = { calls: sdkCalls(client), tableName: 'config', clock: clock.read, log: log.write, deadlineMs: 300 }
    const { subjectKeys, signingKeys } = new KeyRings(reading)
    const configuration = { policies: POLICIES, access: new AccessList([]) }
    return {
      limiter: new RateLimiter({ store: new MemoryStore(), clock: clock.read }),
      configuration: { current: async () => configuration },
      subjectKeys,
      signingKeys,
      plans: new Plans(log.write),
      clients: new Clients({ ...reading, ttlMs: 30_000, negativeTtlMs: 30_000 }),
      sources: new Sources(NO_TOKENS, 300),
      clock: clock.read,
      log: log.write,
      ipv6Prefix: 56,
      failOpen: true,
    }
  }

  private answer({ input }: { readonly input: { readonly Key?: never; readonly RequestItems?: object } }): object {
    if (this.isAway) throw Object.assign(new Error('no way'), { name: 'InternalServerError' })
    const keys = input.Key ? [input.Key] : Object.values(input.RequestItems ?? {}).flatMap(({ Keys }) => Keys)
    const pks = keys.map((key) => String(unmarshall(key).pk))
    this.lookUps.push(...pks.filter((pk) => pk.startsWith('client#')))
    const found = pks.flatMap((pk) => this.items.get(pk) ?? []).map((item) => marshall(item))
    return input.Key ? { Item: found[0] } : { Responses: { config: found } }
  }
}

const eventOf = {
  rest: (key?: string) => restEvent({ key }),
  http: (key?: string) => httpEvent({ key }),
  websocket: (key?: string) => ({
    ...webSocket,
    multiValueHeaders: { ...webSocket.multiValueHeaders, ...(key !== undefined && { 'X-Api-Key': [key] }) },
  }),
}
