import { readFileSync } from 'node:fs'
import type { App, Stack } from 'aws-cdk-lib'
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpLambdaIntegration, HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { httpApi, limited, printedFor, resourcesIn } from './apis'

const INTEGRATION = 'AWS::ApiGatewayV2::Integration'
const HEADERS = 5
const statusesIn = (stack: Stack) =>
  resourcesIn(stack, INTEGRATION).map(([, { Properties }]) => Object.keys(Properties.ResponseParameters ?? {}))

/** What CloudFormation gets. */
const templateSize = (app: App, stack: Stack) =>
  readFileSync(app.synth().getStackByName(stack.stackName).templateFullPath).length

/** An API with a Lambda integration for each route. */
function withRoutes(stack: Stack, routes: number) {
  const api = new HttpApi(stack, 'Api')
  const code = Code.fromInline('exports.handler = async () => ({})')
  const backend = new LambdaFunction(stack, 'Backend', { runtime: Runtime.NODEJS_22_X, handler: 'index.handler', code })
  for (let i = 0; i < routes; i++)
    api.addRoutes({
      path: `/things/number-${i}/{id}`,
      methods: [HttpMethod.GET],
      integration: new HttpLambdaIntegration(`Integration${i}`, backend),
    })
  return api
}

describe('rate-limit headers of an HTTP API', () => {
  it('are mapped for the statuses that clients look at, each with all headers', () => {
    const { stack, limiter } = limited()
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api)
    expect(statusesIn(stack)).toEqual([['200', '201', '204', '404']])
    const [[, { Properties }]] = resourcesIn(stack, INTEGRATION) as [ReturnType<typeof resourcesIn>[number]]
    const mapping = Properties.ResponseParameters as Record<string, { readonly ResponseParameters: unknown[] }>
    for (const { ResponseParameters } of Object.values(mapping)) expect(ResponseParameters).toHaveLength(HEADERS)
  })

  it('are mapped for other statuses by mapStatuses', () => {
    const { stack, limiter } = limited()
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api, { mapStatuses: [200, 500] })
    expect(statusesIn(stack)).toEqual([['200', '500']])
  })

  it('leave 100 routes of an API under 500 KB, without a warning', () => {
    const { app, stack, limiter } = limited()
    limiter.protect(withRoutes(stack, 100))
    const size = templateSize(app, stack)
    expect(size).toBeLessThan(500_000)
    expect(printedFor(stack, 'warning')).toEqual([])
  })

  it('cause a warning that counts before CloudFormation refuses the template', () => {
    const { app, stack, limiter } = limited()
    const mapStatuses = Array.from({ length: 29 }, (_, i) => 200 + i)
    limiter.protect(withRoutes(stack, 43), { mapStatuses })
    const size = templateSize(app, stack)
    const warning = printedFor(stack, 'warning').find((text) => text.includes('sluice:mapHeaders'))
    const [, kilobytes] = /take (\d+) KB of the template of Stack, for 43 integrations and 29 statuses/.exec(warning!)!
    expect(Number(kilobytes)).toBeGreaterThan(500)
    expect(Number(kilobytes) * 1000).toBeLessThan(size)
  })

  it('are counted together for all APIs of a stack', () => {
    const { stack, limiter } = limited()
    const mapStatuses = Array.from({ length: 29 }, (_, i) => 200 + i)
    for (const id of ['One', 'Two']) {
      const api = new HttpApi(stack, id)
      for (let i = 0; i < 15; i++)
        api.addRoutes({ path: `/${i}`, integration: new HttpUrlIntegration(`I${i}`, 'https://example.com') })
      limiter.protect(api, { mapStatuses })
    }
    expect(printedFor(stack, 'warning')).toContainEqual(expect.stringContaining('for 30 integrations'))
  })

  it('are not mapped where a route without the authorizer uses the integration, too: the values are missing there', () => {
    const { stack, limiter } = limited()
    const api = new HttpApi(stack, 'Api')
    const shared = new HttpUrlIntegration('Shared', 'https://example.com')
    const own = new HttpUrlIntegration('Own', 'https://example.com/own')
    limiter.protect(api, { except: ['GET /health'] })
    api.addRoutes({ path: '/a', methods: [HttpMethod.GET], integration: shared })
    api.addRoutes({ path: '/b', methods: [HttpMethod.GET], integration: own })
    api.addRoutes({ path: '/c', methods: [HttpMethod.GET], integration: own })
    api.addRoutes({ path: '/health', methods: [HttpMethod.GET], integration: shared })
    expect(statusesIn(stack)).toEqual([[], ['200', '201', '204', '404']])
    expect(printedFor(stack, 'warning')).toEqual([
      expect.stringMatching(
        /no rate-limit headers, because routes without limits use it, too: GET \/health\..*\[ack: sluice:shared-integration\]/,
      ),
    ])
  })

  it('keep a mapping of one’s own on an integration that is shared', () => {
    const { stack, limiter } = limited()
    const { api, add } = httpApi(stack)
    const a = add('a')
    const b = add('b')
    limiter.protect(api, { routes: [a] })
    const own = { 200: { ResponseParameters: [{ Destination: 'append:header.X-Own', Source: "'1'" }] } }
    const integration = b.node.findAll().find(({ node }) => node.id === 'bIntegration')!.node.defaultChild
    Object.assign(integration!, { responseParameters: own })
    expect(resourcesIn(stack, INTEGRATION).map(([, { Properties }]) => Properties.ResponseParameters)).toContainEqual(
      own,
    )
  })

  it.each([
    [{ mapStatuses: [200, 20] }, 'mapStatuses must be integers from 200 to 599, got 20 (Stack/Api)'],
    [{ mapStatuses: [200.5] }, 'mapStatuses must be integers from 200 to 599, got 200.5 (Stack/Api)'],
    [{ mapStatuses: [200], mapHeaders: false }, 'mapStatuses needs mapHeaders: true, got false'],
  ])('are refused with %j', (options, message) => {
    const { stack, limiter } = limited()
    const { api } = httpApi(stack)
    expect(() => limiter.protect(api, options)).toThrow(message)
  })
})
