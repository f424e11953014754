import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { PolicySets } from '../../lambda/config-table/configuration'
import { LastValid } from '../../lambda/config-table/last-valid'
import { READING_DEADLINE_MS } from '../../lambda/config-table/read-with-retry'
import { parseIpAddress } from '../../lambda/ip-address'
import { FakeClock, FakeLog, FakeTable, readingOf, settled, tierItem } from './fake-table'

const TTL_MS = 30_000
const ROUTE = { pk: 'policy-set', sk: 'route#ANY /admin/*', credentials: 'required' }
const ANONYMOUS = tierItem('anonymous', 20, { credentials: 'required' })

/** A config table that does what the authorizer asks of it, its conditions on `hash` included. */
class ConfigTable {
  readonly partitions = new Map<string, Map<string, Record<string, AttributeValue>>>()
  readonly calls: string[] = []
  /** Runs before a call of this name, once. */
  readonly before = new Map<string, () => void>()
  failing: string | undefined

  readonly client = { send: async (command: never) => this.answer(command) } as unknown as Pick<DynamoDBClient, 'send'>

  put(...items: readonly Record<string, unknown>[]): void {
    for (const item of items) this.partition(String(item.pk)).set(String(item.sk), marshall(item))
  }

  partition(pk: string) {
    const items = this.partitions.get(pk) ?? new Map<string, Record<string, AttributeValue>>()
    this.partitions.set(pk, items)
    return items
  }

  /** Sort keys of the copies, the digest among them. */
  get copies(): string[] {
    return [...this.partition('last-valid').keys()].sort()
  }

  private answer(command: { readonly constructor: { readonly name: string }; readonly input: Record<string, never> }) {
    const { name } = command.constructor
    const { input } = command
    this.calls.push(name)
    const hook = this.before.get(name)
    this.before.delete(name)
    hook?.()
    const values = (input.ExpressionAttributeValues ?? {}) as Record<string, AttributeValue>
    if (name === 'QueryCommand') {
      const pk = values[':partition']?.S ?? ''
      if (this.failing === pk) throw new Error('the table throttles')
      return { Items: [...this.partition(pk)].map(([sk, item]) => ({ ...item, pk: { S: pk }, sk: { S: sk } })) }
    }
    const { pk, sk } = input.Key as unknown as Record<string, { S: string }>
    const items = this.partition(pk!.S)
    const stored = items.get(sk!.S)
    if (name === 'GetItemCommand') return { Item: stored }
    const condition = input.ConditionExpression as string | undefined
    const holds =
      condition === undefined ||
      (condition.startsWith('attribute_not_exists')
        ? !stored?.hash
        : stored?.hash?.S !== undefined && stored.hash.S === values[':seen']?.S)
    if (!holds) throw Object.assign(new Error('no'), { name: 'ConditionalCheckFailedException' })
    if (name === 'DeleteItemCommand') items.delete(sk!.S)
    else items.set(sk!.S, { ...stored, ...(values[':item'] && { item: values[':item'] }), hash: values[':hash']! })
    return {}
  }
}

let table: ConfigTable
let clock: FakeClock
let log: FakeLog

beforeEach(() => {
  table = new ConfigTable()
  clock = new FakeClock()
  log = new FakeLog()
})

/** An instance of the authorizer, as far as it reads its configuration. */
function instance() {
  const reading = readingOf(table, clock, log)
  return new PolicySets({ ...reading, ttlMs: TTL_MS, lastValid: new LastValid(reading) })
}

/** Lets an instance serve: a first request, and the next ones, beside which it brings the copies up to date. */
async function serve(sets = instance()) {
  await sets.current()
  for (let i = 0; i < 4; i++) {
    await sets.current()
    await settled()
  }
  return sets
}

const configurationOf = async (sets = instance()) => (await sets.current())!

describe('the last valid version of an item', () => {
  it('is in force on an instance that starts while the item is invalid', async () => {
    table.put(ANONYMOUS, ROUTE)
    await serve()
    table.put(tierItem('anonymous', '20'), { ...ROUTE, cost: '1', credentials: 'optional' })
    const { policies, identityUnknown } = await configurationOf()
    expect(policies.tiers.get('anonymous')).toMatchObject({ credentials: 'required', policies: [{ limit: 20 }] })
    expect(policies.routes).toMatchObject([{ cost: 1, credentials: 'required' }])
    expect(identityUnknown).toBe(false)
    expect(log.metrics).toContain('ConfigErrors')
  })

  it('is kept by the first instance that reads it, and by no other', async () => {
    table.put(ANONYMOUS, ROUTE)
    await serve()
    expect(table.copies).toEqual(['#digest', ROUTE.sk, ANONYMOUS.sk])
    expect(table.calls.filter((name) => name === 'UpdateItemCommand')).toHaveLength(3)
    table.calls.length = 0
    for (let i = 0; i < 5; i++) await serve()
    expect(table.calls.filter((name) => name !== 'QueryCommand' && name !== 'GetItemCommand')).toEqual([])
    expect(table.calls.filter((name) => name === 'GetItemCommand')).toHaveLength(5)
  })

  it('is replaced when the item changes, and stays while it is invalid', async () => {
    table.put(ANONYMOUS, ROUTE)
    const sets = await serve()
    table.put({ ...ROUTE, cost: 7 })
    clock.now += TTL_MS
    await serve(sets)
    table.put({ ...ROUTE, cost: -1 })
    clock.now += TTL_MS
    await serve(sets)
    expect((await configurationOf()).policies.routes).toMatchObject([{ cost: 7 }])
  })

  it('is deleted with the item: a deleted item does not count as invalid', async () => {
    table.put(ANONYMOUS, ROUTE)
    const sets = await serve()
    table.partition('policy-set').delete(ROUTE.sk)
    clock.now += TTL_MS
    await serve(sets)
    expect(table.copies).toEqual(['#digest', ANONYMOUS.sk])
    expect((await configurationOf()).policies.routes).toEqual([])
  })

  it('never overwrites a newer one of another instance', async () => {
    table.put(ANONYMOUS, ROUTE)
    await serve()
    const slow = instance()
    table.put({ ...ROUTE, cost: 2 })
    await slow.current()
    // While the slow one is about to write what it has read, another reads and keeps the next version.
    table.before.set('UpdateItemCommand', () => {
      table.partition('last-valid').set(ROUTE.sk, marshall({ item: { ...ROUTE, cost: 3 }, hash: 'newer' }))
    })
    await serve(slow)
    expect(table.partition('last-valid').get(ROUTE.sk)?.hash?.S).toBe('newer')
  })

  it.each([
    ['settings', { pk: 'policy-set', sk: 'settings', identity: [{ source: 'jwt', issuer: 'https://i.example' }] }],
    ['tier', tierItem('anonymous', '20')],
    ['route', { ...ROUTE, cost: '1' }],
  ])(
    'is not there for an item that never was valid: whether invalid %s ask for credentials is unknown',
    async (kind, item) => {
      table.put(ANONYMOUS, item)
      const { policies, identityUnknown } = await configurationOf()
      const unknown = {
        settings: identityUnknown,
        tier: policies.tiers.get('anonymous')?.credentials,
        route: policies.routes[0]?.credentials,
      }
      expect(unknown).toMatchObject({ [kind]: kind === 'settings' ? true : 'unknown' })
    },
  )

  it('is not needed to deny callers whom an invalid item blocks', async () => {
    table.put(ANONYMOUS)
    for (const sk of ['block#ip#203.0.113.7/24', 'block#ip#2001:db8::1/32', 'block#client#acme'])
      table.put({ pk: 'policy-set', sk, expiresAt: 'tomorrow' })
    const { access } = await configurationOf()
    expect(
      ['203.0.113.200', '2001:db8:ffff::', '198.51.100.1'].map((ip) => access.ofAddress(parseIpAddress(ip), clock.now)),
    ).toEqual(['block', 'block', undefined])
    expect(access.ofClient('acme', clock.now)).toBe('block')
    expect(access.ofClient('other', clock.now)).toBeUndefined()
  })

  it('is required to let a caller pass uncounted while its allow entry is invalid', async () => {
    table.put(ANONYMOUS, { pk: 'policy-set', sk: 'allow#ip#203.0.113.7/24' })
    expect((await configurationOf()).access.ofAddress(parseIpAddress('203.0.113.7'), clock.now)).toBeUndefined()
  })

  it('is read again after a failed reading', async () => {
    table.put(ANONYMOUS, ROUTE)
    await serve()
    table.put({ ...ROUTE, cost: '1' })
    table.failing = 'last-valid'
    const sets = instance()
    expect((await configurationOf(sets)).policies.routes).toMatchObject([{ credentials: 'unknown' }])
    table.failing = undefined
    clock.now += TTL_MS
    await serve(sets)
    expect((await configurationOf(sets)).policies.routes).toMatchObject([{ credentials: 'required', cost: 1 }])
  })

  it('is waited for two seconds at most, in as many pages as the copies have', async () => {
    const limits = jest.spyOn(AbortSignal, 'timeout')
    const pages = new FakeTable()
    const copies = new LastValid({ ...readingOf(pages, clock, log), deadlineMs: READING_DEADLINE_MS }).read()
    await pages.calls[0]!.answer({ Items: [], LastEvaluatedKey: {} })
    await pages.calls[1]!.answer({ Items: [] })
    expect(await copies).toEqual(new Map())
    expect(limits.mock.calls).toEqual([[2000]])
    expect(pages.calls.map(({ signal }) => signal)).toEqual(Array(2).fill(limits.mock.results[0]!.value))
    limits.mockRestore()
  })

  it('of a tier that is parsed only when a caller is in it comes with the next reading', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `tier-${String(i).padStart(2, '0')}`)
    table.put(ANONYMOUS, ...names.map((name) => tierItem(name, 5)))
    await serve()
    table.put(tierItem('tier-29', '5'))
    const sets = instance()
    expect((await configurationOf(sets)).policies.tiers.get('tier-29')).toBeUndefined()
    await serve(sets)
    expect((await configurationOf(sets)).policies.tiers.get('tier-29')).toMatchObject({ policies: [{ limit: 5 }] })
  })

  it('is all that is in force on a new instance while the set has too many items, and the old instances keep what they had', async () => {
    table.put(ANONYMOUS, ROUTE)
    const old = await serve()
    const entries = Array.from({ length: 5001 }, (_, i) => ({ pk: 'policy-set', sk: `block#client#c${i}` }))
    table.put(...entries)
    const { policies } = await configurationOf()
    expect(policies.routes).toMatchObject([{ credentials: 'required' }])
    clock.now += TTL_MS
    await serve(old)
    expect((await configurationOf(old)).policies.routes).toMatchObject([{ credentials: 'required' }])
    expect(log.entries.filter(({ level }) => level === 'error')).toHaveLength(2)
  })

  it('cannot be kept without the permission, which costs a warning and nothing else', async () => {
    table.put(ANONYMOUS)
    table.before.set('UpdateItemCommand', () => {
      throw Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' })
    })
    const sets = await serve()
    expect((await configurationOf(sets)).policies.tiers.get('anonymous')).toBeDefined()
    expect(log.entries).toMatchObject([{ level: 'warn', event: 'last_valid_unwritable' }])
  })
})

describe('a deployment in which nobody has to show credentials', () => {
  it('reports an item that requires them', async () => {
    table.put(ANONYMOUS, ROUTE)
    const reading = readingOf(table, clock, log)
    await new PolicySets({ ...reading, ttlMs: TTL_MS, authentication: 'none' }).current()
    expect(log.entries).toMatchObject([
      {
        level: 'error',
        details: {
          issues: [
            'credentials must not be "required" where the deployment has authentication "none" (tier "anonymous")',
            'credentials must not be "required" where the deployment has authentication "none" (route "ANY /admin/*")',
          ],
        },
      },
    ])
  })
})
