import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { ConfigError, createLimiter, type Limiter, MemoryStore, type PolicyInput } from '../../limiter'
import { subjectKey } from '../../limiter/subject-key'
import { expressRateLimit } from '../../middleware'
import { everyAlgorithm, limiterOn, TestClock } from './limiters'

const NAMES = [undefined, 'login', 'login:', 'login:ip', 'l', 'ip:']
const CONCURRENCY = { name: 'concurrency', algorithm: 'concurrency', limit: 2, timeout: '1m' } as unknown as PolicyInput

/** Subjects that look as if a namespace stood before them, and texts that UTF-8 writes alike. */
const anySubject = fc.oneof(
  fc.constantFrom(
    'ip:1',
    '1',
    'login:ip:1',
    ':ip:1',
    'login:',
    'ip:',
    '5:loginip:1',
    'login\0ip:1',
    '\ud800',
    '\udfff',
  ),
  fc.string({
    minLength: 1,
    unit: fc.constantFrom('login', 'ip', ':', '1', '\u00ff', '\ufffd', '\ud83d', '\ude00', '\0'),
  }),
)

describe('a subject’s key with a namespace', () => {
  const secrets = [undefined, Buffer.from('sixteen or more bytes')]

  it.each(secrets)('is another for every other namespace, subject or secret: %p', (secret) => {
    const seen = new Map<string, string>()
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), anySubject, (namespace, subject) => {
        const key = subjectKey(subject, secret, namespace)
        expect(key).toMatch(/^[a-z0-9-]{1,16}[#~][\w-]{43}$/)
        const named = JSON.stringify([namespace ?? null, subject])
        expect(seen.get(key) ?? named).toBe(named)
        seen.set(key, named)
      }),
      { numRuns: 3000 },
    )
  })

  it('is the same in every release', () => {
    expect([subjectKey('client:größe', undefined, 'login'), subjectKey('client:größe', secrets[1], 'login')]).toEqual([
      'client#CS6xlM8nY86I9TSav52Nvj4LYRdymrANl4yY2WxZOik',
      'client~_pq1zHFDLstJ-0uYasns0_9oAV6QoZbve8sCx_3fSXo',
    ])
  })

  it('is without one what earlier releases store', () => {
    for (const subject of ['ip:192.0.2.1', 'client:größe', '😀', ':a', '\u00ff'])
      expect(subjectKey(subject).split('#')[1]).toBe(createHash('sha256').update(subject).digest('base64url'))
  })
})

/** What is done to a limiter, at which each answers. */
const anyEvent = fc.record({
  which: fc.nat(2),
  subject: fc.constantFrom('ip:1', 'login:ip:1'),
  does: fc.constantFrom('take', 'take', 'take', 'takeAll', 'peek', 'refund', 'reset', 'waitFor', 'reserve', 'settle'),
  cost: fc.integer({ min: 1, max: 3 }),
  laterMs: fc.constantFrom(0, 0, 1000, 20_000),
})

/** The decisions of limiters to which all of this happens. */
async function played(
  limiters: readonly Limiter[],
  clock: TestClock,
  events: readonly (typeof anyEvent extends fc.Arbitrary<infer Event> ? Event : never)[],
) {
  const tokens = new Map<number, string>()
  const answers: unknown[] = []
  for (const { which, subject, does, cost, laterMs } of events) {
    clock.at += laterMs
    const limiter = limiters[which]!
    if (limiter.countsRunning) {
      if (does === 'reset') await limiter.reset(subject)
      else if (does === 'settle') answers.push(await limiter.settle(tokens.get(which) ?? '', {}).catch(() => 'none'))
      else {
        const { allowed, remaining, reservation } = await limiter.acquire(subject)
        if (reservation) tokens.set(which, reservation)
        answers.push([allowed, remaining])
      }
    } else if (does === 'refund') await limiter.refund(subject, cost)
    else if (does === 'reset') await limiter.reset(subject)
    else if (does === 'settle') answers.push(await limiter.settle(tokens.get(which) ?? '', 0).catch(() => 'none'))
    else if (does === 'reserve') {
      const { reservation, ...decision } = await limiter.take(subject, { cost, reserve: '1m' })
      if (reservation) tokens.set(which, reservation)
      answers.push(decision)
    } else if (does === 'takeAll') answers.push(await limiter.takeAll([{ subject }], { cost }))
    else if (does === 'waitFor') answers.push(await limiter.waitFor(subject, { cost, maxWaitMs: 0 }))
    else answers.push(await limiter[does](subject, { cost }))
  }
  return answers
}

describe('limiters that share a store', () => {
  it.each([...everyAlgorithm(5), CONCURRENCY])(
    'decide with namespaces as if each had a store of its own, whatever the subjects: $name',
    async (policy) => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyEvent, { minLength: 10, maxLength: 40, size: 'max' }), async (events) => {
          const shared = new MemoryStore()
          const [clock, other] = [new TestClock(), new TestClock()]
          const names = [undefined, 'login', 'login:']
          const together = names.map((namespace) => limiterOn(shared, clock, [policy], { namespace }))
          const apart = names.map(() => limiterOn(new MemoryStore(), other, [policy]))
          expect(await played(together, clock, events)).toEqual(await played(apart, other, events))
        }),
        { numRuns: 25 },
      )
    },
  )

  it('share counts with the same namespace, and without one as ever', async () => {
    const [store, clock] = [new MemoryStore(), new TestClock()]
    const policies = [{ name: 'p', limit: 1, window: '1m' }] as const
    for (const namespace of [undefined, 'login']) {
      const [one, two] = [0, 0].map(() => limiterOn(store, clock, policies, { namespace })) as [Limiter, Limiter]
      expect((await one.take('ip:1')).allowed).toBe(true)
      expect((await two.take('ip:1')).allowed).toBe(false)
    }
  })

  it('count apart behind a middleware, too', async () => {
    const store = new MemoryStore()
    const policies = [{ name: 'per-minute', limit: 1, window: '1m' }] as const
    const statuses = []
    for (const namespace of ['login', 'pages', 'login']) {
      const middleware = expressRateLimit({ limiter: createLimiter({ store, policies, namespace }) })
      const res = {
        statusCode: 200,
        setHeader: () => {},
        getHeader: () => undefined,
        once: () => {},
        on: () => {},
        end: () => {},
      }
      await middleware({ ip: '192.0.2.1', socket: {} }, res as never, () => {})
      statuses.push(res.statusCode)
    }
    expect(statuses).toEqual([200, 200, 429])
  })
})

it.each([[''], ['a b'], ['größe'], ['x'.repeat(65)], ['a\n'], [7], [null], [{}]])('%j is no namespace', (namespace) => {
  const make = () =>
    createLimiter({
      store: new MemoryStore(),
      policies: [{ name: 'p', limit: 1, window: '1m' }],
      namespace: namespace as never,
    })
  expect(make).toThrow(ConfigError)
  expect(make).toThrow(/^namespace must be 1 to 64 letters, digits, ":", "\.", "_" or "-", got /)
})
