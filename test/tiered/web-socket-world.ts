import { makeAuthorizer } from '../../lambda/authorize'
import { Plans } from '../../lambda/charge-plans'
import { type AccessEntry, AccessList } from '../../lambda/config-table/items/access-list'
import type { Client } from '../../lambda/config-table/items/client-item'
import { SubjectKeys } from '../../lambda/config-table/subject-keys'
import { hashApiKey } from '../../lambda/identity/api-key'
import { Sources } from '../../lambda/identity/sources'
import type { PolicyAnswer } from '../../lambda/responses/answers'
import { StoreUnavailableError } from '../../limiter/errors'
import { RateLimiter } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { tieredLimiter } from '../../tiered/tiered-limiter'
import { FakeClock, FakeLog } from '../config-table/fake-table'
import { setFrom } from '../config-table/scoped'
import connectEvent from '../responses/events/websocket-connect.json'

const ACME: Client = { id: 'acme', tier: 'free', overrides: { 'per-minute': { limit: 2 } }, disabled: false }
const PRO: Client = { id: 'pro', tier: 'pro', overrides: {}, disabled: false }
const NO_TOKENS = () => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) as const })

/** A WebSocket API: its authorizer, the functions of its routes, and the state table of both. */
export function webSocketWorld(
  items: Readonly<Record<string, object>>,
  access: readonly AccessEntry[] = [],
  secret?: string,
) {
  const clock = new FakeClock()
  const log = new FakeLog()
  const store = new MemoryStore()
  const clients = new Map([
    [hashApiKey('acme key'), ACME],
    [hashApiKey('pro key'), PRO],
    ['client:acme', ACME],
  ])
  const keys = new SubjectKeys([{ secret: Buffer.from(secret ?? ''), activeFrom: 0 }])
  let configuration: unknown = { policies: setFrom(items), access: new AccessList(access) }
  const parts = () => ({
    limiter: new RateLimiter({ store, clock: clock.read }),
    configuration: { current: async () => configuration as never },
    plans: new Plans(log.write),
    sources: new Sources(NO_TOKENS, 300),
    clients: { find: async (key: string) => clients.get(key) },
    ...(secret !== undefined && { subjectKeys: { current: async () => keys } }),
    clock: clock.read,
    log: log.write,
    ipv6Prefix: 56,
    failOpen: true,
  })
  const authorize = makeAuthorizer(parts())
  const limiter = tieredLimiter(parts(), async () => {})
  let messages = 0
  const event = (eventType: string, routeKey: string, authorizer: object | undefined, ip: string) => ({
    ...(eventType === 'MESSAGE' && { body: '{"action":"say"}' }),
    requestContext: {
      ...connectEvent.requestContext,
      eventType,
      routeKey,
      requestId: `request ${++messages}`,
      ...(eventType === 'MESSAGE' && { messageId: `message ${messages}` }),
      identity: { sourceIp: ip },
      ...(authorizer && { authorizer }),
    },
  })

  /** Connects as API Gateway does, and gives the events of the connection; `undefined` where it is refused. */
  const connect = async ({ key, ip = '203.0.113.7' }: { readonly key?: string; readonly ip?: string } = {}) => {
    const headers = { ...(key !== undefined && { 'X-Api-Key': [key] }) }
    const answer = (await authorize({
      ...connectEvent,
      multiValueHeaders: headers,
      requestContext: { ...connectEvent.requestContext, identity: { sourceIp: ip } },
    })) as PolicyAnswer
    if (answer.policyDocument.Statement[0].Effect === 'Deny') return undefined
    const texts = Object.entries(answer.context).map(([name, value]) => [name, String(value)])
    const authorizer: Readonly<Record<string, string>> = Object.fromEntries(texts)
    return {
      context: answer.context,
      opened: () => event('CONNECT', '$connect', authorizer, ip),
      message: (routeKey = '$default') => event('MESSAGE', routeKey, authorizer, ip),
      ended: () => event('DISCONNECT', '$disconnect', authorizer, ip),
    }
  }

  return {
    clock,
    store,
    limiter,
    connect,
    /** A message of a connection about which Sluice was not asked. */
    stray: (authorizer?: object, ip = '203.0.113.7') => event('MESSAGE', '$default', authorizer, ip),
    reconfigure: (now: Readonly<Record<string, object>> | undefined) => {
      configuration = now && { policies: setFrom(now), access: new AccessList(access) }
    },
    loseStore() {
      const fails = async () => {
        throw new StoreUnavailableError('unreachable', 'no connection')
      }
      Object.assign(store, { write: fails, read: fails })
    },
    /** How many reservations and slots are open. */
    async open() {
      const keys = [...(store as unknown as { items: Map<string, unknown> }).items.keys()]
      const all = await Promise.all(keys.map((key) => store.read(key)))
      const fields = all.flatMap(({ policies }) => Object.values(policies).flatMap((one) => Object.keys(one)))
      return fields.filter((name) => name.length === 25).length
    },
  }
}
