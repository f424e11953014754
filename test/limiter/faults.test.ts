import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDbStore, type LimiterOptions, type PolicyInput, StoreUnavailableError } from '../../limiter'
import type { EndSignal } from '../../limiter/deadline'
import { runsDynoxide } from '../engines-left'
import { inTime } from '../in-time'
import { openEngine, TABLE } from '../stores'
import { limiterOn, TestClock } from './limiters'

type Opened = Awaited<ReturnType<typeof openEngine>>

/** The fault of one call: whether the engine receives it, and what the caller gets. */
interface Fault {
  readonly reaches: boolean
  readonly answer: 'throws' | 'hangs' | 'garbage'
  readonly error?: () => Error
}

const fault = (name: string, more: object = {}) => Object.assign(new Error(name), { name, ...more })
const throttled = (reason: string) => () =>
  fault('ThrottlingException', { ThrottlingReasons: [{ reason }], $metadata: { httpStatusCode: 400 } })

const FAULTS = {
  'an answer lost after the write': { reaches: true, answer: 'hangs' },
  'a request lost before the write': { reaches: false, answer: 'hangs' },
  'a connection reset after the write': {
    reaches: true,
    answer: 'throws',
    error: () => fault('Error', { code: 'ECONNRESET' }),
  },
  'a connection reset before the write': {
    reaches: false,
    answer: 'throws',
    error: () => fault('Error', { code: 'ECONNRESET' }),
  },
  'a server error after the write': {
    reaches: true,
    answer: 'throws',
    error: () => fault('InternalServerError', { $metadata: { httpStatusCode: 500 } }),
  },
  'an answer that is garbage': { reaches: true, answer: 'garbage' },
  throttling: { reaches: false, answer: 'throws', error: throttled('TableWriteAccountLimitExceeded') },
} as const satisfies Record<string, Fault>

/** A client whose next calls have one fault each. */
function faulty(client: DynamoDBClient) {
  const queue: Fault[] = []
  let calls = 0
  const send = async (command: never, options: { abortSignal?: EndSignal } = {}) => {
    calls++
    const next = queue.shift()
    if (!next) return client.send(command)
    if (next.reaches) await client.send(command).catch(() => {})
    if (next.answer === 'garbage') return { Attributes: { a1b2c: { N: 'not a number' } } }
    if (next.answer === 'throws') throw next.error!()
    return new Promise((_, reject) => {
      if (options.abortSignal) options.abortSignal.onabort = () => reject(fault('AbortError'))
    })
  }
  return { send: send as unknown as DynamoDBClient['send'], queue, calls: () => calls }
}

const policies: PolicyInput[] = [
  { name: 'window', limit: 10, window: '1h' },
  { name: 'pace', algorithm: 'gcra', limit: 10, window: '1h' },
  { name: 'log', algorithm: 'sliding-log', limit: 10, window: '1h' },
]

const engine = runsDynoxide() ? 'dynoxide' : 'dynalite'

describe(`with a failing store on ${engine}, a limiter`, () => {
  let opened: Opened
  beforeAll(async () => {
    opened = await openEngine(engine)
  })
  afterAll(async () => opened.close())

  let subjects = 0
  const setUp = (more: Partial<LimiterOptions> = {}) => {
    const clock = new TestClock()
    const client = faulty(opened.client)
    const subject = `client:${engine}-${subjects++}`
    const open = (from: Pick<DynamoDBClient, 'send'>) =>
      limiterOn(new DynamoDbStore({ client: from, tableName: TABLE }), clock, policies, { deadlineMs: 1200, ...more })
    const limiter = open(client)
    /** The state as a client without faults reads it. */
    const left = async () =>
      Object.values((await open(opened.client).take(subject, { cost: 0 })).policies).map(({ remaining }) => remaining)
    return { client, clock, subject, limiter, left }
  }
  const warm = async (more?: Partial<LimiterOptions>) => {
    const all = setUp(more)
    await all.limiter.take(all.subject)
    return all
  }

  for (const [name, one] of Object.entries(FAULTS)) {
    it(`counts once and answers in time after ${name}`, async () => {
      const { client, subject, limiter, left } = await warm()
      client.queue.push(one)
      expect(await limiter.take(subject, { cost: 3 })).toMatchObject({ allowed: true, remaining: 6, degraded: false })
      expect(client.calls()).toBe(3)
      expect(await left()).toEqual([6, 6, 6])
    })

    it(`counts once after ${name} twice`, async () => {
      const { client, subject, limiter, left } = await warm()
      client.queue.push(one, one)
      expect(await limiter.take(subject, { cost: 3 })).toMatchObject({ allowed: true, remaining: 6 })
      expect(await left()).toEqual([6, 6, 6])
    })
  }

  it('counts once if an answer is lost and another instance writes before the retry', async () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0.1)
    const { client, subject, limiter, left } = setUp()
    await limiter.peek('another') // it is loaded, and has its mark
    random.mockReturnValue(0.9) // another mark
    const stranger = limiterOn(
      new DynamoDbStore({ client: opened.client, tableName: TABLE }),
      new TestClock(),
      policies,
    )
    await stranger.peek('another')
    random.mockRestore()
    await limiter.take(subject)
    client.queue.push(FAULTS['an answer lost after the write'])
    const [decision] = await Promise.all([limiter.take(subject), stranger.take(subject)])
    expect(decision).toMatchObject({ allowed: true })
    expect(await left()).toEqual([7, 7, 7])
  })

  it('does not let the SDK count twice, however often it retries', async () => {
    const { subject, left } = setUp()
    const { client } = opened
    let first = true
    const send = async (command: never) => {
      const answer = await client.send(command)
      if (!first) return answer
      first = false
      return client.send(command) // the SDK's own retry: the same request once more
    }
    const limiter = limiterOn(
      new DynamoDbStore({ client: { send: send as never }, tableName: TABLE }),
      new TestClock(),
      policies,
    )
    expect(await limiter.take(subject, { cost: 4 })).toMatchObject({ allowed: true, remaining: 6 })
    expect(await left()).toEqual([6, 6, 6])
  })

  it('gives up at the deadline, and reports why', async () => {
    const { client, subject, limiter } = await warm({ deadlineMs: 200 })
    client.queue.push(...Array<Fault>(9).fill(FAULTS['a request lost before the write']))
    const taken = inTime(260, () => limiter.take(subject))
    await expect(taken).rejects.toMatchObject({ code: 'store_unavailable', reason: 'timeout' })
  })

  const REASONS: [string, () => Error, StoreUnavailableError['reason'], number][] = [
    [
      'no such table',
      () => fault('ResourceNotFoundException', { $metadata: { httpStatusCode: 400 } }),
      'missing-table',
      1,
    ],
    [
      'a permission that is lacking',
      () => fault('AccessDeniedException', { $metadata: { httpStatusCode: 400 } }),
      'refused',
      1,
    ],
    [
      'credentials that have expired',
      () => fault('ExpiredTokenException', { $metadata: { httpStatusCode: 400 } }),
      'refused',
      1,
    ],
    ['credentials that are lacking', () => fault('CredentialsProviderError'), 'refused', 1],
    [
      'a request that is not understood',
      () => fault('ValidationException', { $metadata: { httpStatusCode: 400 } }),
      'refused',
      1,
    ],
    ['a hot key', throttled('KeyRangeThroughputExceeded'), 'hot-key', 2],
    [
      'a hot key, as a ThrottlingException spells it',
      () => fault('ThrottlingException', { throttlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded' }] }),
      'hot-key',
      2,
    ],
    ['a table that throttles', throttled('TableWriteProvisionedThroughputExceeded'), 'throttled', 3],
    ['throttling in the old words', () => fault('ProvisionedThroughputExceededException'), 'throttled', 3],
    ['no address', () => fault('Error', { code: 'ENOTFOUND' }), 'unreachable', 3],
    ['no connection', () => fault('Error', { code: 'ECONNREFUSED' }), 'unreachable', 3],
    ['a certificate that is wrong', () => fault('Error', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'unreachable', 3],
    ['a server error', () => fault('InternalServerError', { $metadata: { httpStatusCode: 500 } }), 'unreachable', 3],
    ['an answer that cannot be parsed', () => fault('SyntaxError'), 'malformed', 3],
  ]
  for (const [name, error, reason, calls] of REASONS) {
    it(`reports ${name} as ${reason} after ${calls} ${calls === 1 ? 'call' : 'calls'}`, async () => {
      const { client, subject, limiter } = await warm({ deadlineMs: 2000 }) // time for every try on a busy machine
      client.queue.push(...Array<Fault>(9).fill({ reaches: false, answer: 'throws', error }))
      const failure = await limiter.take(subject).catch((thrown: unknown) => thrown)
      expect(failure).toBeInstanceOf(StoreUnavailableError)
      expect(failure).toMatchObject({ reason, cause: expect.any(Error) })
      expect((failure as Error).message).toContain(`"${TABLE}"`)
      expect(client.calls() - 1).toBe(calls)
    })
  }

  it('names a missing table, and the command that creates it', async () => {
    const limiter = limiterOn(
      new DynamoDbStore({ client: opened.client, tableName: 'not-there' }),
      new TestClock(),
      policies,
      {
        onStoreError: 'local',
      },
    )
    await expect(limiter.take('client:a')).rejects.toThrow(
      'there is no table "not-there" here; make it with createStateTable(client, "not-there")',
    )
  })

  it('counts in memory by default, marked as degraded, once the store has worked', async () => {
    const { client, clock, subject, limiter } = await warm({ onStoreError: 'local' })
    client.queue.push(
      ...Array<Fault>(99).fill({ reaches: false, answer: 'throws', error: () => fault('AccessDeniedException') }),
    )
    // one was taken before
    for (let i = 0; i < 9; i++) expect(await limiter.take(subject)).toMatchObject({ allowed: true, degraded: true })
    expect(await limiter.take(subject)).toMatchObject({ allowed: false, degraded: true, policy: 'window' })
    client.queue.length = 0
    clock.at += 1500 // the circuit breaker has opened for 0.5 to 1.5 s
    expect(await limiter.take(subject)).toMatchObject({ allowed: true, degraded: false, remaining: 8 })
  })

  it('allows or denies every request in failure mode allow or deny', async () => {
    for (const [onStoreError, allowed, retryAfterMs] of [
      ['allow', true, 0],
      ['deny', false, 1000],
    ] as const) {
      const { client, subject, limiter } = await warm({ onStoreError })
      client.queue.push({ reaches: false, answer: 'throws', error: () => fault('AccessDeniedException') })
      expect(await limiter.take(subject)).toMatchObject({ allowed, retryAfterMs, degraded: true, limit: 10 })
    }
  })

  it('refunds the charge of one subject if the store fails for another', async () => {
    const { client, subject, limiter, left } = await warm()
    client.queue.push(
      ...Array<Fault>(1).fill({ reaches: false, answer: 'throws', error: () => fault('AccessDeniedException') }),
    )
    await expect(limiter.takeAll([{ subject: 'client:fails' }, { subject }])).rejects.toMatchObject({
      reason: 'refused',
    })
    expect(await left()).toEqual([9, 9, 9])
  })
})
