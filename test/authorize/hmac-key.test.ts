import type { RingKey } from '../../lambda/config-table/items/key-ring'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { SubjectKeys } from '../../lambda/config-table/subject-keys'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { subjectKey } from '../../limiter/subject-key'
import { Gateway } from './gateway'

const SECRET = Buffer.alloc(32, 7)
const LIMIT = 10
const IP = '198.51.100.7'

const setWith = (more: object) =>
  parseTiersFile(
    {
      tiers: {
        anonymous: {
          by: 'ip',
          policies: [{ name: 'p', algorithm: 'fixed-window', limit: LIMIT, window: '1h', ...more }],
        },
      },
    },
    'tiers',
  )

/** Instances on one store and one time, which get to know of a secret one after another. */
class Fleet {
  readonly store = new MemoryStore()
  readonly instances: Gateway[]
  private readonly known: SubjectKeys[]

  constructor(size: number, more: object = {}) {
    this.known = Array.from({ length: size }, () => new SubjectKeys())
    const set = setWith(more)
    this.instances = this.known.map(
      (_, i) => new Gateway({ set, store: this.store, subjectKeys: { current: async () => this.known[i] } }),
    )
    const [first, ...others] = this.instances
    for (const { clock } of others) Object.defineProperty(clock, 'now', { get: () => first!.clock.now })
  }

  get clock() {
    return this.instances[0]!.clock
  }

  tell(instance: number, key: RingKey): void {
    this.known[instance] = new SubjectKeys([key])
  }

  /** How many of these requests, by the instances in turn, are allowed. */
  async allowed(requests: number): Promise<number> {
    let count = 0
    for (let i = 0; i < requests; i++) {
      const { effect } = await this.instances[i % this.instances.length]!.rest({ ip: IP })
      if (effect === 'Allow') count++
    }
    return count
  }
}

describe.each(['strict', 'leased', 'eventual'])(
  'a secret that comes while instances run, with %s counts',
  (consistency) => {
    it('changes nothing before it is active, whichever instances know it, and then gives every caller its limit once more, not once for each instance', async () => {
      const fleet = new Fleet(3, { consistency })
      const bound = consistency === 'eventual' ? 3 * LIMIT : LIMIT // each instance may count for itself until it tells
      fleet.clock.now = Math.ceil(fleet.clock.now / 3_600_000) * 3_600_000 + 60_000
      const activeFrom = fleet.clock.now + 600_000
      expect(await fleet.allowed(9)).toBe(9)
      fleet.tell(0, { secret: SECRET, activeFrom })
      fleet.tell(2, { secret: SECRET, activeFrom })
      fleet.clock.now += 300_000
      expect(await fleet.allowed(60)).toBeLessThanOrEqual(bound - 9)
      fleet.tell(1, { secret: SECRET, activeFrom })
      fleet.clock.now = activeFrom - 1
      const before = await fleet.allowed(30)
      expect(before).toBeLessThanOrEqual(Math.max(0, bound - 9))

      fleet.clock.now = activeFrom // units leased, denials known and counts kept under the old key are of no use here
      const anew = await fleet.allowed(60)
      expect(anew).toBeGreaterThanOrEqual(LIMIT)
      expect(anew).toBeLessThanOrEqual(bound)
      fleet.clock.now += 10_000
      expect(await fleet.allowed(60)).toBeLessThanOrEqual(Math.max(0, bound - anew))
    })
  },
)

describe('an authorizer with a secret', () => {
  const keyed = new SubjectKeys([{ secret: SECRET, activeFrom: 0 }])
  const key = subjectKey(`ip:${IP}`, SECRET)

  it('stores, reports and logs callers by their hash under it, and never by a hash that anybody can compute', async () => {
    const gateway = new Gateway({ set: setWith({ limit: 1 }), subjectKeys: { current: async () => keyed } })
    expect((await gateway.rest({ ip: IP })).subject).toBe(key)
    expect((await gateway.rest({ ip: IP })).subject).toBe(key)
    expect((await gateway.store.read(key)).policies).not.toEqual({})
    const [, hash] = subjectKey(`ip:${IP}`).split('#')
    expect(JSON.stringify([gateway.answers, gateway.entries])).not.toContain(hash)
  })

  it('counts preflights under it', async () => {
    const gateway = new Gateway({ set: setWith({}), subjectKeys: { current: async () => keyed } })
    const { subject } = await gateway.rest({
      method: 'OPTIONS',
      ip: IP,
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
    })
    expect(subject).toBe(key)
    expect((await gateway.store.read(subjectKey(`preflight:ip:${IP}`, SECRET))).policies).not.toEqual({})
  })

  it('decides nothing while it does not know the secret, as if the tiers could not be read', async () => {
    for (const onStoreError of ['allow', 'deny', 'local'] as const) {
      const gateway = new Gateway({ set: setWith({}), onStoreError, subjectKeys: { current: async () => undefined } })
      await expect(gateway.rest({ ip: IP })).rejects.toThrow()
      expect(await gateway.http({ ip: IP })).toMatchObject({ effect: 'Deny', reason: 'unverified', degraded: true })
    }
    const open = new Gateway({
      set: setWith({}),
      authentication: 'none',
      subjectKeys: { current: async () => undefined },
    })
    expect(await open.rest({ ip: IP })).toMatchObject({ effect: 'Allow', reason: 'uncounted', degraded: true })
  })

  it('counts a request under one key, however long its decision takes', async () => {
    const activeFrom = 1_700_000_000_100
    const schedule = new SubjectKeys([{ secret: SECRET, activeFrom }])
    const gateway = new Gateway({
      set: setWith({}),
      subjectKeys: {
        current: async () => {
          gateway.clock.now = activeFrom + 5 // while it was looked up
          return schedule
        },
      },
    })
    gateway.clock.now = activeFrom - 1
    const { subject } = await gateway.rest({ ip: IP })
    expect(subject).toBe(subjectKey(`ip:${IP}`))
    expect((await gateway.store.read(subject)).policies).not.toEqual({})
    expect((await gateway.store.read(key)).policies).toEqual({})
  })
})
