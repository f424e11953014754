import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { buildSync } from 'esbuild'
import { DynamoDbStore } from '../../limiter'
import { type AwsCredentials, Credentials } from '../../limiter/aws/credentials'
import { DirectCalls } from '../../limiter/stores/direct-calls'
import { toStoreUnavailable } from '../../limiter/stores/dynamodb-errors'
import { withOwnVariables } from './environment'
import { ok, type Received, RecordingServer, type Respond, reply } from './server'

const T = Date.UTC(2026, 10, 24)
const MINUTE = 60_000
const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI' }
/** Lets what is under way in the background come to its end. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

withOwnVariables()

describe('credentials', () => {
  it('are those of the environment: of a Lambda function, and of anybody who exports them', async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' })
    expect(await new Credentials().get()).toEqual({ accessKeyId: 'AKID', secretAccessKey: 'secret' })
    Object.assign(process.env, { AWS_SESSION_TOKEN: 'token', AWS_CREDENTIAL_EXPIRATION: '2026-11-24T01:00:00Z' })
    expect(await new Credentials().get()).toEqual({
      accessKeyId: 'AKID',
      secretAccessKey: 'secret',
      sessionToken: 'token',
      expiration: new Date('2026-11-24T01:00:00Z'),
    })
  })

  it('are those that are given, before those of the environment', async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' })
    expect(await new Credentials(KEYS).get()).toEqual(KEYS)
    expect(await new Credentials(async () => KEYS).get()).toEqual(KEYS)
  })

  it.each(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])(
    'are not those of the environment without %s',
    async (name) => {
      Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret', [name]: '' })
      await expect(new Credentials().get()).rejects.toThrow('Could not load credentials from any')
    },
  )
})

describe('a provider', () => {
  /** A provider whose sessions last for so long, and how often it was asked. */
  function sessions(lastingMs: number) {
    const clock = { at: T }
    const provider = jest.fn(async (): Promise<AwsCredentials> => {
      const sessionToken = `session ${provider.mock.calls.length}`
      return { ...KEYS, sessionToken, expiration: new Date(clock.at + lastingMs) }
    })
    const credentials = new Credentials(provider, () => clock.at)
    const token = async () => (await credentials.get()).sessionToken
    return { clock, provider, credentials, token }
  }

  it.each([undefined, {}, { accessKeyId: 'AKID' }, { accessKeyId: 1, secretAccessKey: 's' }])(
    'that gives %j is an error about credentials, and is asked again',
    async (given) => {
      const provider = jest.fn(async () => given as never)
      const calls = new DirectCalls({ region: 'eu-west-1', endpoint: 'http://127.0.0.1:1', credentials: provider })
      for (const times of [1, 2]) {
        const failure = await calls.call('GetItem', { TableName: 't', Key: {} }).catch((error) => error)
        expect(toStoreUnavailable(failure, 't')).toMatchObject({ reason: 'unusable-client' })
        expect(provider).toHaveBeenCalledTimes(times)
      }
      calls.destroy()
    },
  )

  it('is asked once for credentials that do not expire, however many calls need them at the same time', async () => {
    const provider = jest.fn(async () => KEYS)
    const credentials = new Credentials(provider, () => T)
    await Promise.all([credentials.get(), credentials.get(), credentials.get()])
    await credentials.get()
    expect(provider).toHaveBeenCalledTimes(1)
  })

  it('is asked anew in the background, once at a time, in the last five minutes of its credentials', async () => {
    const { clock, provider, token } = sessions(60 * MINUTE)
    expect(await token()).toBe('session 1')
    clock.at += 55 * MINUTE
    expect(await token()).toBe('session 1')
    await settled()
    expect(provider).toHaveBeenCalledTimes(1)
    clock.at += 1
    expect(await Promise.all([token(), token()])).toEqual(['session 1', 'session 1'])
    await settled()
    expect(provider).toHaveBeenCalledTimes(2)
    expect(await token()).toBe('session 2')
  })

  it('is waited for once its credentials have expired', async () => {
    const { clock, token } = sessions(60 * MINUTE)
    await token()
    clock.at += 60 * MINUTE - 1
    expect(await token()).toBe('session 1')
    await settled()
    clock.at += 60 * MINUTE
    expect(await Promise.all([token(), token()])).toEqual(['session 3', 'session 3'])
  })

  it('may fail as long as its last credentials last, and no longer', async () => {
    const { clock, provider, token } = sessions(60 * MINUTE)
    await token()
    provider.mockRejectedValue(new Error('vault is down'))
    clock.at += 60 * MINUTE - 1
    for (let i = 0; i < 3; i++) {
      expect(await token()).toBe('session 1')
      await settled()
    }
    expect(provider).toHaveBeenCalledTimes(4) // each call tries again
    clock.at += 1
    await expect(token()).rejects.toThrow('vault is down')
    provider.mockResolvedValue({ ...KEYS, sessionToken: 'new' })
    expect(await token()).toBe('new')
  })

  it('is asked for each call where its credentials have expired on arrival', async () => {
    const { provider, token } = sessions(-1)
    await token()
    await token()
    expect(provider).toHaveBeenCalledTimes(2)
  })
})

describe('a call whose session', () => {
  const EXPIRED = {
    __type: 'com.amazon.coral.service#ExpiredTokenException',
    message: 'The security token has expired',
  }
  let server: RecordingServer
  beforeEach(async () => {
    server = new RecordingServer()
    await server.listen()
  })
  afterEach(async () => server.close())
  const tokenOf = ({ headers }: Received) => headers['x-amz-security-token']
  /** Refuses these sessions. */
  const refusing =
    (...tokens: readonly string[]): Respond =>
    (response, request) =>
      tokens.includes(String(tokenOf(request))) ? reply(response, 400, EXPIRED) : ok(response)
  const numbered = () => {
    let count = 0
    const provider = jest.fn(async () => ({ ...KEYS, sessionToken: `session-${++count}` }))
    const calls = new DirectCalls({ region: 'eu-west-1', endpoint: server.endpoint, credentials: provider })
    return { provider, get: () => calls.call('GetItem', { TableName: 't', Key: {} }) }
  }

  it('AWS says has expired is sent once more, with credentials fetched anew', async () => {
    const { get } = numbered()
    server.respond = refusing('session-1')
    expect(await get()).toMatchObject({ $metadata: { httpStatusCode: 200 } })
    await get()
    expect(server.received.map(tokenOf)).toEqual(['session-1', 'session-2', 'session-2'])
  })

  it('has expired together with that of many others fetches credentials once for all of them', async () => {
    const { provider, get } = numbered()
    await get()
    server.respond = refusing('session-1')
    await Promise.all(Array.from({ length: 20 }, get))
    expect(provider).toHaveBeenCalledTimes(2)
  })

  it('has expired again is not sent a third time', async () => {
    const { get } = numbered()
    server.respond = refusing('session-1', 'session-2')
    await expect(get()).rejects.toMatchObject({ name: 'ExpiredTokenException' })
    expect(server.received).toHaveLength(2)
  })

  it('cannot be renewed is not sent again', async () => {
    const credentials = { ...KEYS, sessionToken: 'session-1' }
    const calls = new DirectCalls({ region: 'eu-west-1', endpoint: server.endpoint, credentials })
    server.respond = refusing('session-1')
    await expect(calls.call('GetItem', { TableName: 't', Key: {} })).rejects.toMatchObject({
      name: 'ExpiredTokenException',
    })
    expect(server.received).toHaveLength(1)
  })
})

describe("the SDK's chain of sources, where a package of it is installed,", () => {
  const PACKAGES = ['@aws-sdk/credential-providers', '@aws-sdk/credential-provider-node'] as const
  const profile = '[default]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = secret\n'

  it('is asked where the environment has no credentials', async () => {
    withFile(profile)
    expect(await new Credentials().get()).toMatchObject({ accessKeyId: 'AKIDPROFILE' })
  })

  it('is asked where the environment names a profile, too', async () => {
    withFile(profile.replace('default', 'mine'))
    jest.spyOn(console, 'warn').mockReturnValueOnce() // the SDK's advice
    Object.assign(process.env, { AWS_PROFILE: 'mine', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' })
    expect(await new Credentials().get()).toMatchObject({ accessKeyId: 'AKIDPROFILE' })
  })

  it('is not missed in silence: without any, the error says the three ways to give credentials', async () => {
    for (const name of PACKAGES) jest.doMock(name, missing(name), { virtual: true })
    await expect(new Credentials().get()).rejects.toThrow(
      'Could not load credentials from any source: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, pass credentials ' +
        '(such as fromNodeProviderChain()), or install @aws-sdk/credential-providers',
    )
    for (const name of PACKAGES) jest.dontMock(name)
  })

  it('is in no bundle: esbuild does not follow the names of its packages', () => {
    const source = join(__dirname, '../../limiter/aws/credentials.ts')
    const { metafile } = buildSync({
      entryPoints: [source],
      bundle: true,
      platform: 'node',
      format: 'esm',
      write: false,
      metafile: true,
    })
    expect(Object.keys(metafile.inputs).filter((path) => path.includes('credential-provider'))).toEqual([])
  })

  it('is first that of @aws-sdk/credential-providers', async () => {
    const chain = () => ({ fromNodeProviderChain: () => async () => ({ ...KEYS, accessKeyId: 'OF PROVIDERS' }) })
    jest.doMock(PACKAGES[0], chain, { virtual: true })
    expect(await new Credentials().get()).toMatchObject({ accessKeyId: 'OF PROVIDERS' })
    jest.dontMock(PACKAGES[0])
  })

  const missing = (name: string) => () => {
    throw Object.assign(new Error(`Cannot find package '${name}' imported from here`), { code: 'ERR_MODULE_NOT_FOUND' })
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-credentials-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  let files = 0
  /** A file of its own, since the SDK remembers what it has read. */
  const withFile = (text: string) => {
    process.env.AWS_SHARED_CREDENTIALS_FILE = join(folder, `credentials-${files++}`)
    writeFileSync(process.env.AWS_SHARED_CREDENTIALS_FILE, text)
  }
})

describe('no credential, session token or signature', () => {
  const credentials = {
    accessKeyId: 'ASIAQWERTYUIOPASDFGH',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    sessionToken:
      'IQoJb3JpZ2luX2VjEPT//wEXAMPLE+c764bNrC9SAPBSM22wDOk4x4/HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmx=fpSPfIeoIYRqTA==',
  }
  let server: RecordingServer
  beforeAll(async () => {
    server = new RecordingServer()
    await server.listen()
  })
  afterAll(async () => server.close())

  /** All that a server can repeat of a request. */
  const echoOf = ({ headers }: Received) =>
    Object.entries(headers)
      .map((entry) => entry.join(': '))
      .join('\n')
  const escaped = (text: string, spelled: (character: string) => string) => text.replace(/[^\w\s]/g, spelled)
  const hex = (character: string) => character.charCodeAt(0).toString(16).padStart(4, '0')

  it.each<[string, (echo: string) => string]>([
    ['as it is', (echo) => JSON.stringify({ __type: 'x#InvalidSignatureException', message: echo })],
    ['as other fields', (echo) => JSON.stringify({ __type: 'InvalidSignatureException', Message: '', more: { echo } })],
    ['with slashes escaped', (echo) => JSON.stringify({ __type: 'A', message: echo }).replaceAll('/', '\\/')],
    [
      'with \\u escapes',
      (echo) => `{"__type":"A","message":"${escaped(echo.replaceAll('\n', ' '), (one) => `\\u${hex(one)}`)}"}`,
    ],
    [
      'with \\U escapes',
      (echo) =>
        `{"__type":"A","message":"${escaped(echo.replaceAll('\n', ' '), (one) => `\\u${hex(one).toUpperCase()}`)}"}`,
    ],
    ['as in a URL', (echo) => JSON.stringify({ __type: 'A', message: encodeURIComponent(echo) })],
    [
      'as in HTML',
      (echo) => JSON.stringify({ __type: 'A', message: escaped(echo, (one) => `&#${one.charCodeAt(0)};`) }),
    ],
    ['as in XML', (echo) => JSON.stringify({ __type: 'A', message: escaped(echo, (one) => `&#x${hex(one)};`) })],
    ['as its type', (echo) => JSON.stringify({ __type: echo, message: 'no' })],
    ['as text', (echo) => echo],
    ['alone', (echo) => echo.split('x-amz-security-token: ')[1]!],
  ])('is in an error or in what is logged of it, whatever the server repeats: %s', async (_, body) => {
    for (const status of [200, 302, 400, 403, 500]) {
      server.respond = (response, request) => reply(response, status, body(echoOf(request)))
      const store = new DynamoDbStore({ region: 'eu-west-1', endpoint: server.endpoint, tableName: 't', credentials })
      const error = await store.read('k').catch((thrown: unknown) => thrown)
      if (status !== 200) expect(error).toBeInstanceOf(Error)
      const shown = plain(inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error))
      const { authorization = '' } = server.received.at(-1)!.headers
      const secrets = [...Object.values(credentials), authorization.split('Signature=')[1]!]
      expect(secrets.filter((secret) => shown.includes(secret))).toEqual([])
    }
  })

  /** Without the escapes that a reader could undo. */
  const plain = (text: string) =>
    text
      .replace(/\\+u([\da-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(/&#x([\da-f]+);/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
      .replace(/%([\da-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
      .replaceAll('\\', '')

  it('is in an error about the options', () => {
    for (const wrong of ['AKIA:wJalrXUtnFEMI', { secretAccessKey: 'wJalrXUtnFEMI' }, ['wJalrXUtnFEMI'], 7])
      expect(() => new DynamoDbStore({ region: 'eu-west-1', tableName: 't', credentials: wrong as never })).toThrow(
        /^credentials must be a function or have an accessKeyId, got (string|object|number)$/,
      )
  })

  it('is replaced where it is so short that it may be a part of the answer’s own words', async () => {
    server.respond = (response) =>
      reply(response, 400, { __type: 'x#ValidationException', message: 'a test of tables' })
    const short = { accessKeyId: 'a', secretAccessKey: 's', sessionToken: 'test' }
    const store = new DynamoDbStore({
      region: 'eu-west-1',
      endpoint: server.endpoint,
      tableName: 't',
      credentials: short,
    })
    await expect(store.read('k')).rejects.toMatchObject({
      message: 'table "t" refused the call: a test of tables',
      cause: { name: 'ValidationException' },
    })
  })
})
