import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sluice } from '../command-line'

/** The format strings of AWS's pages on access logs, each in one line. */
const PAGE = 'https://docs.aws.amazon.com/apigateway/latest/developerguide/'
const FORMATS = {
  [`${PAGE}set-up-access-logging.html`]: {
    CLF: '$context.identity.sourceIp $context.identity.caller $context.identity.user [$context.requestTime]"$context.httpMethod $context.resourcePath $context.protocol" $context.status $context.responseLength $context.requestId $context.extendedRequestId',
    JSON: '{ "requestId":"$context.requestId", "extendedRequestId":"$context.extendedRequestId","ip": "$context.identity.sourceIp", "caller":"$context.identity.caller", "user":"$context.identity.user", "requestTime":"$context.requestTime", "httpMethod":"$context.httpMethod", "resourcePath":"$context.resourcePath", "status":"$context.status", "protocol":"$context.protocol", "responseLength":"$context.responseLength" }',
    XML: '<request id="$context.requestId"> <extendedRequestId>$context.extendedRequestId</extendedRequestId> <ip>$context.identity.sourceIp</ip> <caller>$context.identity.caller</caller> <user>$context.identity.user</user> <requestTime>$context.requestTime</requestTime> <httpMethod>$context.httpMethod</httpMethod> <resourcePath>$context.resourcePath</resourcePath> <status>$context.status</status> <protocol>$context.protocol</protocol> <responseLength>$context.responseLength</responseLength> </request>',
    CSV: '$context.identity.sourceIp,$context.identity.caller,$context.identity.user,$context.requestTime,$context.httpMethod,$context.resourcePath,$context.protocol,$context.status,$context.responseLength,$context.requestId,$context.extendedRequestId',
  },
  [`${PAGE}http-api-logging.html`]: {
    CLF: '$context.identity.sourceIp - - [$context.requestTime] "$context.httpMethod $context.routeKey $context.protocol" $context.status $context.responseLength $context.requestId $context.extendedRequestId',
    JSON: '{ "requestId":"$context.requestId", "ip": "$context.identity.sourceIp", "requestTime":"$context.requestTime", "httpMethod":"$context.httpMethod","routeKey":"$context.routeKey", "status":"$context.status","protocol":"$context.protocol", "responseLength":"$context.responseLength", "extendedRequestId": "$context.extendedRequestId" }',
    XML: '<request id="$context.requestId"> <ip>$context.identity.sourceIp</ip> <requestTime>$context.requestTime</requestTime> <httpMethod>$context.httpMethod</httpMethod> <routeKey>$context.routeKey</routeKey> <status>$context.status</status> <protocol>$context.protocol</protocol> <responseLength>$context.responseLength</responseLength> <extendedRequestId>$context.extendedRequestId</extendedRequestId> </request>',
    CSV: '$context.identity.sourceIp,$context.requestTime,$context.httpMethod,$context.routeKey,$context.protocol,$context.status,$context.responseLength,$context.requestId,$context.extendedRequestId',
  },
  [`${PAGE}websocket-api-logging.html`]: {
    CLF: '$context.identity.sourceIp $context.identity.caller $context.identity.user [$context.requestTime] "$context.eventType $context.routeKey $context.connectionId" $context.status $context.requestId',
    JSON: '{ "requestId":"$context.requestId", "ip": "$context.identity.sourceIp", "caller":"$context.identity.caller", "user":"$context.identity.user", "requestTime":"$context.requestTime", "eventType":"$context.eventType", "routeKey":"$context.routeKey", "status":"$context.status", "connectionId":"$context.connectionId" }',
    XML: '<<request id="$context.requestId">> <<ip>>$context.identity.sourceIp<</ip>> <<caller>>$context.identity.caller<</caller>> <<user>>$context.identity.user<</user>> <<requestTime>>$context.requestTime<</requestTime>> <<eventType>>$context.eventType<</eventType>> <<routeKey>>$context.routeKey<</routeKey>> <<status>>$context.status<</status>> <<connectionId>>$context.connectionId<</connectionId>> <</request>>',
    CSV: '$context.identity.sourceIp,$context.identity.caller,$context.identity.user,$context.requestTime,$context.eventType,$context.routeKey,$context.connectionId,$context.status,$context.requestId',
  },
} as const

const CASES = Object.entries(FORMATS).flatMap(([page, formats]) =>
  Object.entries(formats).map(([name, format]) => [name, page, format] as const),
)

const TIERS = `
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 3, window: 1m, algorithm: fixed-window }] }
routes:
  "GET /pets/{id}": { policies: [{ name: pets, limit: 2, window: 1m, algorithm: fixed-window }] }
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'formats-'))
  writeFileSync(join(folder, 'tiers.yaml'), TIERS)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The line that API Gateway writes: what a request does not have is a dash. */
function lineOf(format: string, page: string, i: number): string {
  const isOfWebSocket = page.includes('websocket')
  const values: Readonly<Record<string, string>> = {
    'identity.sourceIp': '198.51.100.7',
    requestTime: `15/Jan/2027:08:00:0${i} +0000`,
    httpMethod: 'GET',
    resourcePath: '/pets/{id}',
    routeKey: isOfWebSocket ? '$connect' : 'GET /pets/{id}',
    protocol: 'HTTP/1.1',
    status: '200',
    responseLength: '12',
    requestId: 'JKJaXmPLvHcESHA=',
    extendedRequestId: 'JKJaXmPLvHcESHA=',
    eventType: 'CONNECT',
    connectionId: 'JKJaXe4VvHcCGaA=',
  }
  return format.replace(/\$context\.([A-Za-z.]+[A-Za-z])/g, (_, name: string) => values[name] ?? '-')
}

const simulated = (lines: readonly string[], ...args: string[]) => {
  writeFileSync(join(folder, 'log'), `${lines.join('\n')}\n`)
  return sluice(['simulate', '--tiers', join(folder, 'tiers.yaml'), '--log', join(folder, 'log'), ...args])
}

describe.each(CASES)('the %s of %s', (_, page, format) => {
  const lines = Array.from({ length: 5 }, (_, i) => lineOf(format, page, i))

  it('is read as it is, and a gate over it counts', async () => {
    const { code, out } = await simulated(lines, '--json', '--fail-if', 'denied >= 2')
    const { requests, unreadable, denied, undecided, routes } = JSON.parse(out)
    const isOfWebSocket = page.includes('websocket')
    expect({ code, requests, unreadable, denied, undecided }).toEqual({
      code: 3,
      requests: 5,
      unreadable: 0,
      denied: isOfWebSocket ? 2 : 3,
      undecided: {},
    })
    expect(routes.map(({ route }: { route: string }) => route)).toEqual([isOfWebSocket ? '*' : 'GET /pets/{id}'])
  })

  it('is read as the message of an event of CloudWatch Logs', async () => {
    const events = lines.map((message, i) => ({ timestamp: 1_800_000_000_000 + i * 1000, message }))
    const { out } = await simulated([JSON.stringify({ events }, undefined, 2)], '--json')
    expect(JSON.parse(out)).toMatchObject({ requests: 5, unreadable: 0 })
  })
})

describe('a gate does not pass by not looking', () => {
  const [first, ...others] = Array.from({ length: 200 }, (_, i) =>
    JSON.stringify({ time: 1_800_000_000_000 + i * 60_000, ip: '198.51.100.7' }),
  )
  const nonsense = Array<string>(300).fill('{ nonsense')

  it.each<[string, string[], number]>([
    ['without an option', [], 3],
    ['that are more than its option says', ['--max-unjudged', '299'], 3],
    ['that are as many as its option says', ['--max-unjudged', '300'], 0],
    ['whose share is larger than its option says', ['--max-unjudged', '59%'], 3],
    ['whose share is as large', ['--max-unjudged', '60%'], 0],
  ])('lines that cannot be read fail it, %s', async (_, args, code) => {
    const found = await simulated([first!, ...nonsense, ...others], '--fail-if', 'denied > 100', ...args)
    expect([found.code, found.out.split('\n')[1]]).toEqual([
      code,
      '300 of 500 lines cannot be read or understood, so nothing is known of them',
    ])
  })

  it('nothing fails without a condition', async () => {
    expect((await simulated([first!, ...nonsense])).code).toBe(0)
  })

  it('a request that is none cannot be read', async () => {
    const lines = ['GET GET', 'GET pets HTTP/1.1', 'GET /pets HTTP/1.1'].map(
      (request, i) => `198.51.100.7 - - [15/Jan/2027:08:00:0${i} +0000] "${request}" 200 12`,
    )
    const { out } = await simulated(lines, '--json')
    expect(JSON.parse(out)).toMatchObject({ requests: 1, unreadable: 2 })
  })

  it.each(['-1', '1.5', '101%', 'some'])('--max-unjudged %s is refused', async (text) => {
    expect(await simulated([first!], `--max-unjudged=${text}`)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`--max-unjudged must be a number of lines or a share such as 0.5%, got "${text}"`),
    })
  })
})
