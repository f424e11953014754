import { DirectCalls } from '../../limiter/stores/direct-calls'
import { ok, type Received, RecordingServer, reply } from './server'

const HOUR = 3_600_000
const MINUTE = 60_000
/** AWS takes signatures of five minutes before and after its own time. */
const TOLERANCE = 5 * MINUTE

let server: RecordingServer
/** How far the clock of this machine is ahead of AWS's. */
let wrongMs = 0
let errorName: string
let hasDate: boolean
let takesNone: boolean
const realNow = Date.now

beforeEach(async () => {
  ;[wrongMs, errorName, hasDate, takesNone] = [0, 'InvalidSignatureException', true, false]
  jest.spyOn(Date, 'now').mockImplementation(() => realNow() + wrongMs)
  server = new RecordingServer()
  await server.listen()
  server.respond = (response, request) => {
    response.sendDate = false
    if (hasDate) response.setHeader('date', new Date(realNow()).toUTCString())
    const isRefused = takesNone || Math.abs(signedAt(request) - realNow()) > TOLERANCE
    const message =
      'Signature expired: 20261124T000000Z is now earlier than 20261124T010000Z (20261124T010500Z - 5 min.)'
    if (isRefused) reply(response, 400, { __type: `com.amazon.coral.service#${errorName}`, message })
    else ok(response)
  }
})
afterEach(async () => {
  jest.restoreAllMocks()
  await server.close()
})

const signedAt = ({ headers }: Received) =>
  Date.parse(String(headers['x-amz-date']).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))

function caller(credentials: ConstructorParameters<typeof DirectCalls>[0] = {}) {
  const keys = { accessKeyId: 'AKID', secretAccessKey: 'secret' }
  const calls = new DirectCalls({ region: 'eu-west-1', endpoint: server.endpoint, credentials: keys, ...credentials })
  return async () => calls.call('GetItem', { TableName: 't', Key: {} })
}

describe('a clock that is wrong', () => {
  it.each([-24 * HOUR, -HOUR, -6 * MINUTE, 6 * MINUTE, HOUR, 24 * HOUR])(
    'costs one call more, and the next ones none: by %i ms',
    async (ms) => {
      wrongMs = ms
      const get = caller()
      for (let i = 0; i < 3; i++) expect(await get()).toMatchObject({ $metadata: { httpStatusCode: 200 } })
      expect(server.received).toHaveLength(4)
    },
  )

  it.each([
    [HOUR, 0],
    [-HOUR, 0],
    [HOUR, -HOUR],
    [-HOUR, HOUR],
    [2 * HOUR, HOUR],
    [-2 * HOUR, -HOUR],
  ])(
    'and wrong again later, or right, costs one call more each time: by %i ms, then by %i ms',
    async (first, second) => {
      const get = caller()
      for (const ms of [first, second]) {
        wrongMs = ms
        server.received.length = 0
        await get()
        await get()
        expect(server.received).toHaveLength(3)
      }
    },
  )

  it.each([
    'InvalidSignatureException',
    'SignatureDoesNotMatch',
    'RequestExpired',
    'RequestInTheFuture',
    'RequestTimeTooSkewed',
    'AuthFailure',
  ])('is set right by %s', async (name) => {
    ;[wrongMs, errorName] = [HOUR, name]
    expect(await caller()()).toMatchObject({ $metadata: { httpStatusCode: 200 } })
  })

  it.each([HOUR, -HOUR])('does not make sound credentials seem expired: by %i ms', async (ms) => {
    wrongMs = ms
    const credentials = jest.fn(async () => ({
      ...{ accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' },
      expiration: new Date(realNow() + 30 * MINUTE),
    }))
    const get = caller({ credentials })
    await get()
    credentials.mockClear()
    for (let i = 0; i < 3; i++) await get()
    expect(credentials).not.toHaveBeenCalled()
  })

  it('is not set by answers without a date', async () => {
    ;[wrongMs, hasDate] = [HOUR, false]
    await expect(caller()()).rejects.toMatchObject({ name: 'InvalidSignatureException' })
    expect(server.received).toHaveLength(1)
  })
})

describe('a signature that is really wrong', () => {
  it.each([0, 50_000, -50_000])('is not sent a second time while the clock is right: off by %i ms', async (ms) => {
    ;[takesNone, wrongMs] = [true, ms]
    const get = caller()
    for (let i = 1; i <= 3; i++) {
      await expect(get()).rejects.toMatchObject({ name: 'InvalidSignatureException' })
      expect(server.received).toHaveLength(i)
    }
  })

  it('is sent a second time once while the clock is wrong, since that may be why', async () => {
    ;[takesNone, wrongMs] = [true, HOUR]
    const get = caller()
    for (let i = 1; i <= 3; i++) {
      await expect(get()).rejects.toMatchObject({ name: 'InvalidSignatureException' })
      expect(server.received).toHaveLength(i + 1)
    }
  })

  it.each(['ValidationException', 'UnrecognizedClientException', 'AccessDeniedException', 'ThrottlingException'])(
    'is not seen in %s, whatever the date',
    async (name) => {
      ;[takesNone, wrongMs, errorName] = [true, HOUR, name]
      await expect(caller()()).rejects.toMatchObject({ name })
      expect(server.received).toHaveLength(1)
    },
  )
})
