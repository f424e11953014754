import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDbStore, type PolicyInput } from '../../limiter'
import { runsDynoxide } from '../engines-left'
import { ANSWERS, CONNECTIONS, type Fault, SLOW } from '../faults/fault'
import { FaultyDynamoDb } from '../faults/proxy'
import { runs } from '../runs'
import { openEngine, TABLE } from '../stores'
import { limiterOn, TestClock } from './limiters'

const policies: PolicyInput[] = [
  { name: 'window', limit: 10, window: '1h' },
  { name: 'pace', algorithm: 'gcra', limit: 10, window: '1h' },
]
const engine = runsDynoxide() ? 'dynoxide' : 'dynalite'
const DEADLINE_MS = 1000

const access = { region: 'us-east-1', credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret' } }
const WAYS = {
  direct: (endpoint: string) => new DynamoDbStore({ ...access, endpoint, tableName: TABLE }),
  'by the SDK': (endpoint: string) =>
    new DynamoDbStore({ client: new DynamoDBClient({ ...access, endpoint, maxAttempts: 1 }), tableName: TABLE }),
}
/** The SDK's client meets faults of its calls in faults.test.ts, and those of the wire with `THOROUGH=1`. */
const chosen = Object.entries(WAYS).slice(0, runs(1, 2))

/** What another try sets right: a fault of the wire, of an answer, or of both. */
const FAULTS: readonly Fault[] = [
  ...ANSWERS.filter(({ final }) => !final),
  ...SLOW.slice(0, 1),
  ...CONNECTIONS.filter(({ connection }) => connection === 'reset' || connection === 'silent'),
]

describe.each(chosen)(`a decision over a network that fails, ${engine} called %s,`, (_, storeAt) => {
  let opened: Awaited<ReturnType<typeof openEngine>>
  let table: FaultyDynamoDb
  let endpoint: string
  let subjects = 0
  beforeAll(async () => {
    opened = await openEngine(engine)
    table = new FaultyDynamoDb(opened.endpoint, false)
    await table.listen()
    endpoint = `http://127.0.0.1:${table.port}`
  })
  afterEach(() => table.disarm())
  afterAll(async () => {
    await table?.close()
    await opened?.close()
  })

  /** A limiter whose connection is open, and a subject that has taken one unit. */
  async function warm() {
    const clock = new TestClock()
    const subject = `client:${subjects++}`
    const times = { deadlineMs: DEADLINE_MS, firstDeadlineMs: DEADLINE_MS }
    const open = (at: string) => limiterOn(storeAt(at), clock, policies, times)
    const limiter = open(endpoint)
    await limiter.take(subject)
    /** The units left, as they are read without faults. */
    const left = async () => {
      const { window, pace } = (await open(opened.endpoint).peek(subject, { cost: 0 })).policies
      return [window?.remaining, pace?.remaining]
    }
    return { limiter, subject, left, fresh: () => open(endpoint) }
  }
  const arm = (fault: Fault, operation: string, applied: boolean) =>
    table.arm({ fault, applied, times: 1, deadlineMs: DEADLINE_MS, aim: (call) => call.operation === operation })

  it.each(FAULTS.flatMap((fault) => [false, true].map((applied) => [fault.name, applied, fault] as const)))(
    'counts once and is real: %s, the write applied before: %p',
    async (_name, applied, fault) => {
      const { limiter, subject, left } = await warm()
      await arm(fault, 'UpdateItem', applied)
      expect(await limiter.take(subject, { cost: 3 })).toMatchObject({ allowed: true, remaining: 6, degraded: false })
      expect(table.metAt).toBeGreaterThan(0)
      expect(await left()).toEqual([6, 6])
    },
  )

  it.each(FAULTS.map((fault) => [fault.name, fault] as const))('reads again: %s', async (_name, fault) => {
    const { fresh, subject } = await warm()
    await arm(fault, 'GetItem', false)
    expect(await fresh().peek(subject, { cost: 0 })).toMatchObject({ remaining: 9 })
    expect(table.metAt).toBeGreaterThan(0)
  })

  it.each([
    ['resets', () => table.resetConnections()],
    ['ends', () => void table.hangUp()],
  ])('counts once if the server %s its idle connections just as the next request is sent', async (_name, close) => {
    const { limiter, subject, left } = await warm()
    for (let i = 2; i <= 8; i++) {
      close()
      expect(await limiter.take(subject)).toMatchObject({ allowed: true, remaining: 10 - i, degraded: false })
    }
    expect(await left()).toEqual([2, 2])
  })

  it('counts once if a device in between has lost its idle connections', async () => {
    const { limiter, subject, left } = await warm()
    table.forgetConnections()
    expect(await limiter.take(subject)).toMatchObject({ allowed: true, remaining: 8, degraded: false })
    expect(await left()).toEqual([8, 8])
  })

  it('fails in time where nothing is answered, and counts at most once for it', async () => {
    const { limiter, subject, left } = await warm()
    const stalled = ANSWERS.find(({ name }) => name.startsWith('stalled'))!
    await table.arm({ fault: stalled, applied: true, times: Infinity, deadlineMs: DEADLINE_MS, aim: () => true })
    const started = performance.now()
    await expect(limiter.take(subject)).rejects.toMatchObject({ reason: 'timeout' })
    expect(performance.now() - started).toBeLessThan(DEADLINE_MS + 200)
    table.disarm()
    expect(await left()).toEqual([8, 8])
  })
})
