import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { domainOf, endpointOf } from '../../limiter/aws/endpoint'
import { ConfigError } from '../../limiter/errors'
import { DirectCalls } from '../../limiter/stores/direct-calls'
import { withOwnVariables } from './environment'
import { ok, RecordingServer } from './server'

interface Partition {
  readonly id: string
  readonly regions: object
  readonly outputs: { readonly dnsSuffix: string }
}

const PARTITIONS = partitions()
const REGIONS = PARTITIONS.flatMap(({ id, regions, outputs }) =>
  Object.keys(regions)
    .filter((name) => !name.endsWith('-global')) // by which the SDK means a partition
    .map((region) => ({ region, id, domain: outputs.dnsSuffix })),
)
const credentials = { accessKeyId: 'a', secretAccessKey: 's' }
const SDK = { dynamodb: DynamoDBClient, lambda: LambdaClient }
const SERVICES = ['dynamodb', 'lambda'] as const

/** The SDK's own list, which no entry point of its packages exports. */
function partitions(): readonly Partition[] {
  const folder = join(__dirname, '../../node_modules/@aws-sdk/core/dist-es/submodules/client/util-endpoints/lib/aws')
  const file = readFileSync(join(folder, 'partitions.js'), 'utf8')
  return JSON.parse(file.slice(file.indexOf('{'), file.lastIndexOf('}') + 1)).partitions
}

withOwnVariables()

describe("a Region's endpoint", () => {
  it('is tested for all partitions of AWS', () => {
    expect(PARTITIONS.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        'aws',
        'aws-cn',
        'aws-us-gov',
        'aws-iso',
        'aws-iso-b',
        'aws-iso-e',
        'aws-iso-f',
        'aws-eusc',
      ]),
    )
    expect(REGIONS.length).toBeGreaterThan(40)
  })

  it.each(SERVICES)('is where the SDK would call, for every Region and kind of endpoint: %s', (service) => {
    for (const { region } of REGIONS)
      for (const isFips of [false, true])
        for (const isDualStack of [false, true]) {
          const env = {
            AWS_REGION: region,
            AWS_USE_FIPS_ENDPOINT: String(isFips),
            AWS_USE_DUALSTACK_ENDPOINT: String(isDualStack),
          }
          const { config } = new SDK[service]({ region, credentials })
          const theirs = config.endpointProvider({ Region: region, UseFIPS: isFips, UseDualStack: isDualStack })
          const ours = endpointOf(service, {}, env)
          expect([env, ours]).toEqual([env, { region, url: theirs.url }])
        }
  })

  it('is also that of Regions that AWS has not opened yet', () => {
    for (const region of [
      'eu-north-9',
      'cn-east-3',
      'us-gov-central-1',
      'us-isob-north-4',
      'eusc-de-west-2',
      'mx-east-5',
    ]) {
      const { config } = new DynamoDBClient({ region, credentials })
      expect(endpointOf('dynamodb', { region }, {}).url).toEqual(config.endpointProvider({ Region: region }).url)
    }
  })

  it('has the domain of its partition', () => {
    for (const { region, domain } of REGIONS) expect([region, domainOf(region)]).toEqual([region, domain])
  })
})

describe('the environment', () => {
  const region = 'eu-west-1'
  const local = 'http://127.0.0.1:8000'
  const other = 'https://proxy.example:4566/all'

  it.each<[NodeJS.ProcessEnv]>([
    [{ AWS_REGION: 'ap-southeast-2' }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL: other }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL: other, AWS_ENDPOINT_URL_DYNAMODB: local }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL: other, AWS_ENDPOINT_URL_LAMBDA: local }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL: other, AWS_ENDPOINT_URL_DYNAMODB: '' }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL: '' }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL_DYNAMODB: `${local}/base/` }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL: other, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL_DYNAMODB: local, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' }],
    [{ AWS_REGION: region, AWS_ENDPOINT_URL: other, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false' }],
    [{ AWS_REGION: region, AWS_USE_FIPS_ENDPOINT: 'true' }],
    [{ AWS_REGION: region, AWS_USE_FIPS_ENDPOINT: 'maybe' }],
    [{ AWS_REGION: region, AWS_USE_DUALSTACK_ENDPOINT: 'true' }],
    [{ AWS_REGION: region, AWS_USE_FIPS_ENDPOINT: 'true', AWS_USE_DUALSTACK_ENDPOINT: 'true' }],
    [{ AWS_REGION: region, AWS_USE_DUALSTACK_ENDPOINT: 'false' }],
  ])('does what it does in the SDK: %j', async (env) => {
    Object.assign(process.env, env)
    for (const service of SERVICES) {
      const theirs = await sentBySdk(service)
      const { url } = endpointOf(service)
      expect(`${service} ${url.protocol}//${url.host}${url.pathname.replace(/\/?$/, '/')}`).toBe(`${service} ${theirs}`)
    }
  })

  it('is overruled by what is given', () => {
    const env = { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }
    expect(endpointOf('dynamodb', { region: 'us-east-1', endpoint: 'http://127.0.0.1:2' }, env)).toEqual({
      region: 'us-east-1',
      url: new URL('http://127.0.0.1:2'),
    })
    expect(endpointOf('dynamodb', { region: undefined, endpoint: undefined }, env)).toEqual({
      region: 'eu-west-1',
      url: new URL('http://127.0.0.1:1'),
    })
  })
})

/** Where the SDK sends a call, without sending it. */
async function sentBySdk(service: (typeof SERVICES)[number]): Promise<string> {
  let sent = ''
  const handle = async ({ protocol, hostname, port, path }: Record<string, string>) => {
    sent = `${protocol}//${hostname}${port ? `:${port}` : ''}${path!.replace(/2015-03-31.*/, '')}`
    return { response: { statusCode: 500, headers: {}, body: '' } }
  }
  const config = { credentials, maxAttempts: 1, requestHandler: { handle } as never }
  await (service === 'dynamodb'
    ? new DynamoDBClient(config).send(new GetItemCommand({ TableName: 't', Key: {} }))
    : new LambdaClient(config).send(new InvokeCommand({ FunctionName: 'f' }))
  ).catch(() => {})
  return sent
}

describe('a Region or a URL that cannot be used', () => {
  const refusal = (options: object, env: NodeJS.ProcessEnv = {}) => {
    try {
      endpointOf('dynamodb', options, env)
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      return (error as Error).message
    }
    return 'nothing was refused'
  }

  it.each([
    [undefined, 'none'],
    ['', 'none'],
    ['eu central', '"eu central"'],
    ['eu-west-1.evil.example', '"eu-west-1.evil.example"'],
    ['-eu', '"-eu"'],
    ['eu-', '"eu-"'],
    ['eu/west', '"eu/west"'],
    ['fips-us-east-1', '"fips-us-east-1"'],
    ['us-east-1-fips', '"us-east-1-fips"'],
    ['x'.repeat(64), `"${'x'.repeat(60)}…"`],
    [7, '7'],
  ])('is refused in words that say what was wanted: Region %p', (region, got) => {
    expect(refusal({ region })).toBe(
      `region must be a Region such as "eu-central-1" (option region, or AWS_REGION), got ${got}`,
    )
  })

  it.each(['nonsense', '', '127.0.0.1:8000', 'ftp://127.0.0.1', '//127.0.0.1', 'http://', 8000, null])(
    'is refused in words that say what was wanted: endpoint %p',
    (endpoint) => {
      expect(refusal({ region: 'eu-west-1', endpoint })).toMatch(
        /^endpoint must be a URL that begins with https:\/\/ or http:\/\/, got /,
      )
    },
  )

  it('is refused in the environment, too', () => {
    expect(refusal({}, { AWS_REGION: 'eu central' })).toContain('got "eu central"')
    expect(refusal({}, { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'nonsense' })).toContain('got "nonsense"')
  })

  it.each(['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT'])(
    'is refused where it makes %s mean nothing, as by the SDK',
    (name) => {
      const env = { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'https://example.com', [name]: 'true' }
      expect(refusal({}, env)).toBe(
        `${name} chooses among AWS's own endpoints, so none may be configured, got https://example.com/`,
      )
      const { config } = new DynamoDBClient({ region: 'eu-west-1', credentials })
      const wanted = { UseFIPS: name.includes('FIPS'), UseDualStack: !name.includes('FIPS') }
      expect(() => config.endpointProvider({ Endpoint: 'https://example.com', ...wanted })).toThrow('not supported')
    },
  )
})

describe('a call', () => {
  it.each(['', '/', '/base', '/base/', '/a/b%20c'])('keeps the path and the port of an endpoint: %p', async (path) => {
    const server = new RecordingServer()
    await server.listen()
    server.respond = ok
    const endpoint = `${server.endpoint}${path}`
    const direct = new DirectCalls({ region: 'eu-west-1', endpoint, credentials })
    await direct.call('GetItem', { TableName: 't', Key: {} })
    const client = new DynamoDBClient({ region: 'eu-west-1', endpoint, credentials })
    await client.send(new GetItemCommand({ TableName: 't', Key: {} }))
    const [ours, theirs] = server.received
    expect([ours!.path, ours!.headers.host]).toEqual([theirs!.path, theirs!.headers.host])
    direct.destroy()
    client.destroy()
    await server.close()
  })
})
