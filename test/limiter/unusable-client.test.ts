import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import {
  ConfigError,
  createLimiter,
  DynamoDbStore,
  type DynamoDbStoreOptions,
  type LimiterEvent,
  type LimiterOptions,
  type PolicyInput,
  type StoreFailure,
} from '../../limiter'
import { withOwnVariables } from '../aws/environment'

const CREDENTIALS = { accessKeyId: 'a', secretAccessKey: 'b' }
const MINUTE: PolicyInput = { name: 'minute', limit: 10, window: '1m' }
const MODES = ['local', 'allow', 'deny', 'throw'] as const
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9'

const NO_REGION = {
  code: 'store_unavailable',
  reason: 'unusable-client',
  message:
    'client of table "state" must have a Region such as "eu-central-1" (option region, or AWS_REGION), got none: ' +
    'Region is missing',
}

function limiterOf(config: DynamoDBClientConfig, options: Partial<LimiterOptions> = {}) {
  const client = new DynamoDBClient({ maxAttempts: 1, ...config })
  const store = new DynamoDbStore({ client, tableName: 'state' })
  return createLimiter({ store, policies: [MINUTE], ...options })
}

const withoutRegion = (options: Partial<LimiterOptions> = {}) => limiterOf({ credentials: CREDENTIALS }, options)

withOwnVariables()

describe('a client that can never call', () => {
  it.each(MODES)(
    'is thrown at the first request when it has no Region, under onStoreError %s',
    async (onStoreError) => {
      await expect(withoutRegion({ onStoreError }).take('a')).rejects.toMatchObject(NO_REGION)
    },
  )

  it.each<[string, DynamoDBClientConfig, string]>([
    [
      'no credentials',
      { region: 'eu-central-1', endpoint: NOWHERE },
      'must have credentials (option credentials, or AWS_PROFILE), got none: Could not load credentials',
    ],
    [
      'credentials that are none',
      { region: 'eu-central-1', endpoint: NOWHERE, credentials: {} as never },
      'must have credentials (option credentials, or AWS_PROFILE), got an invalid one: Resolved credential',
    ],
    [
      'a Region that is none',
      { region: 'eu central', credentials: CREDENTIALS },
      'must have a Region such as "eu-central-1" (option region, or AWS_REGION), got an invalid one: Region not accepted: region="eu central"',
    ],
    [
      'an endpoint that is no URL',
      { region: 'eu-central-1', endpoint: 'nonsense', credentials: CREDENTIALS },
      'must have a URL as its endpoint, got "nonsense": Invalid URL',
    ],
  ])('is thrown in words that name what it lacks: %s', async (_, config, words) => {
    await expect(limiterOf(config).take('a')).rejects.toMatchObject({
      reason: 'unusable-client',
      message: expect.stringContaining(words),
    })
  })

  it('is thrown by every call of a limiter, and again by each', async () => {
    const limiter = withoutRegion({ policies: [MINUTE, { ...MINUTE, name: 'more' }] })
    for (let i = 0; i < 2; i++) {
      for (const call of [
        () => limiter.take('a', { cost: 0 }),
        () => limiter.takeAll([{ subject: 'a' }, { subject: 'b', policies: ['more'] }]),
        () => limiter.peek('a'),
        () => limiter.refund('a'),
        () => limiter.reset('a'),
      ])
        await expect(call()).rejects.toMatchObject({ reason: 'unusable-client' })
    }
  })

  it('is thrown in the same words while the circuit is open', async () => {
    const events: LimiterEvent[] = []
    const limiter = withoutRegion({ onEvent: (event) => events.push(event) })
    for (let i = 0; i < 20; i++)
      await expect(limiter.take(`s${i}`)).rejects.toMatchObject({
        reason: 'unusable-client',
        message: expect.stringContaining(NO_REGION.message),
      })
    expect(events).toContainEqual({ kind: 'circuit', state: 'open' })
  })

  it.each<Partial<PolicyInput>>([{ consistency: 'leased' }, { action: 'observe' }, { action: 'delay' }])(
    'is thrown by the first request under %j',
    async (fields) => {
      const limiter = withoutRegion({ policies: [{ ...MINUTE, ...fields }] })
      await expect(limiter.take('a')).rejects.toMatchObject(NO_REGION)
    },
  )

  it('is thrown under consistency eventual from the first sync on, for which no request waits', async () => {
    const limiter = withoutRegion({ policies: [{ ...MINUTE, consistency: 'eventual', syncMs: 50 }] })
    await limiter.take('a')
    await new Promise((resolve) => setTimeout(resolve, 200))
    await expect(limiter.take('a')).rejects.toMatchObject(NO_REGION)
  })
})

describe('a store without a client that can never call', () => {
  const tableName = 'state'
  const direct = { tableName, region: 'eu-central-1', endpoint: NOWHERE }
  const NO_CREDENTIALS = {
    code: 'store_unavailable',
    reason: 'unusable-client',
    message: expect.stringContaining(
      'client of table "state" must have credentials (option credentials, or AWS_PROFILE), got none: Could not load ' +
        'credentials from any',
    ),
  }

  it.each<[string, DynamoDbStoreOptions, string]>([
    [
      'no Region',
      { tableName },
      'region must be a Region such as "eu-central-1" (option region, or AWS_REGION), got none',
    ],
    ['an invalid Region', { ...direct, region: 'eu central' }, 'or AWS_REGION), got "eu central"'],
    [
      'an invalid endpoint',
      { ...direct, endpoint: 'nonsense' },
      'endpoint must be a URL that begins with https:// or http://, got "nonsense"',
    ],
    [
      'credentials of another shape',
      { ...direct, credentials: {} as never },
      'credentials must be a function or have an accessKeyId, got object',
    ],
    [
      'a client and an endpoint',
      { ...direct, client: { send: (async () => {}) as never } },
      'endpoint must be left out beside client, which has its own',
    ],
  ])('cannot be made, in words that name what it lacks: %s', (_, options, words) => {
    expect(() => new DynamoDbStore(options)).toThrow(ConfigError)
    expect(() => new DynamoDbStore(options)).toThrow(words)
  })

  it('names all that it lacks at once', () => {
    const options = { tableName: '', region: 'eu central', credentials: 'AKID' as never }
    expect(() => new DynamoDbStore(options)).toThrow(
      /tableName must be [\s\S]*credentials must be [\s\S]*region must be /,
    )
  })

  it.each(MODES)(
    'is thrown at each request where it has no credentials, under onStoreError %s',
    async (onStoreError) => {
      const limiter = createLimiter({ store: new DynamoDbStore(direct), policies: [MINUTE], onStoreError })
      for (let i = 0; i < 2; i++) await expect(limiter.take('a')).rejects.toMatchObject(NO_CREDENTIALS)
    },
  )

  it.each([{ accessKeyId: 'AKID' }, async () => ({}), async () => undefined])(
    'is thrown where its credentials are invalid: %p',
    async (credentials) => {
      const store = new DynamoDbStore({ ...direct, credentials: credentials as never })
      await expect(createLimiter({ store, policies: [MINUTE] }).take('a')).rejects.toMatchObject({
        reason: 'unusable-client',
        message: expect.stringContaining('got an invalid one: Resolved credential object is not valid'),
      })
    },
  )

  it('is left to the failure mode where its source of credentials fails', async () => {
    const store = new DynamoDbStore({ ...direct, credentials: () => Promise.reject(new Error('vault is down')) })
    expect(await createLimiter({ store, policies: [MINUTE] }).take('a')).toMatchObject({
      allowed: true,
      degraded: true,
    })
  })
})

describe('a client that may yet succeed', () => {
  it.each<[string, Error, StoreFailure]>([
    ['timeouts', Object.assign(new Error('late'), { name: 'TimeoutError' }), 'timeout'],
    ['throttling', Object.assign(new Error('slow down'), { name: 'ThrottlingException' }), 'throttled'],
    ['a network that is away', Object.assign(new Error('away'), { code: 'ECONNREFUSED' }), 'unreachable'],
    ['a source of credentials that fails', new Error('vault is down'), 'malformed'],
  ])('leaves the first request to the failure mode: %s', async (_, error, failure) => {
    const store = new DynamoDbStore({ client: { send: (() => Promise.reject(error)) as never }, tableName: 'state' })
    const limiter = createLimiter({ store, policies: [MINUTE] })
    expect(await limiter.take('a')).toMatchObject({ allowed: true, degraded: true, failure })
  })

  it.each([
    Object.assign(new Error('The security token included in the request is expired'), {
      name: 'ExpiredTokenException',
    }),
    Object.assign(new Error('Could not load credentials from any providers'), { name: 'CredentialsProviderError' }),
  ])('leaves requests to the failure mode once the table has answered: %s', async (error) => {
    let failing = false
    const send = async () => {
      if (failing) throw error
      return { $metadata: { requestId: '1' }, Attributes: undefined }
    }
    const store = new DynamoDbStore({ client: { send: send as never }, tableName: 'state' })
    const limiter = createLimiter({ store, policies: [MINUTE] })
    expect(await limiter.take('a')).toMatchObject({ degraded: false })
    failing = true
    expect(await limiter.take('a')).toMatchObject({ allowed: true, degraded: true })
  })
})
