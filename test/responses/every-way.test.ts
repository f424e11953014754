import { createContext, runInContext } from 'node:vm'
import { App, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { withRateLimit } from '../../backend'
import { toAnswer } from '../../lambda/responses/answers'
import { type AuthorizerContext, toContext } from '../../lambda/responses/context'
import { DECISION_HEADERS } from '../../lambda/responses/header-table'
import { fromEvent } from '../../lambda/responses/request'
import { RateLimiter } from '../../lib'
import { SluiceStack } from '../../lib/sluice-stack'
import type { Decision } from '../../limiter/decision'
import type { Api } from '../../local/gateway/api'
import { createBackend } from '../../local/gateway/backend'
import { startGateway } from '../../local/gateway/gateway'
import { httpApi } from '../../local/gateway/http-api'
import { restApi } from '../../local/gateway/rest-api'
import { render } from '../../provisioning/gateway-response'
import { FakeAws } from '../attach/fake-aws'
import { ALLOWED, DENIED, NOW, OVER, SHAPES } from './decisions'
import { draft10, overage, retryAfter, xRateLimit } from './expected-headers'

type Headers = Readonly<Record<string, string>>

const contextOf = (decision: Decision) =>
  toContext({ decision, shapes: SHAPES, tier: 'free', subject: 'client:abc', now: NOW })

/** The headers of a response that tell of a decision, whatever the case of their names. */
function told(headers: Headers): Headers {
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return Object.fromEntries(
    DECISION_HEADERS.flatMap(({ name }) => {
      const value = values.get(name.toLowerCase())
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** What API Gateway makes of parameters: `gatewayresponse.header.RateLimit: context.authorizer.rateLimit`. */
function rendered(parameters: Headers, context: AuthorizerContext): Headers {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name.replace(/^.*?header\./, ''), render(value, context)]),
  )
}

const limited = (protect: (stack: Stack, limiter: RateLimiter) => void): Template => {
  const stack = new Stack(new App(), 'Stack')
  protect(stack, new RateLimiter(stack, 'Limiter'))
  return Template.fromStack(stack)
}

const propertiesOf = (template: Template, type: string, matching: object = {}) =>
  Object.values(template.findResources(type, { Properties: matching }))[0]!.Properties

/** `gatewayresponse.header.…` as the construct writes it. */
function fromRestConstruct(): Headers {
  const template = limited((stack, limiter) => {
    const api = new RestApi(stack, 'Api', { cloudWatchRole: false })
    api.root.addMethod('GET')
    limiter.protect(api)
  })
  return propertiesOf(template, 'AWS::ApiGateway::GatewayResponse').ResponseParameters
}

/** `overwrite:header.…` as the construct writes it for answers with 200. */
function fromHttpConstruct(): Headers {
  const template = limited((stack, limiter) => {
    const api = new HttpApi(stack, 'Api')
    api.addRoutes({ path: '/a', integration: new HttpUrlIntegration('A', 'https://example.com') })
    limiter.protect(api)
  })
  const mapping = propertiesOf(template, 'AWS::ApiGatewayV2::Integration').ResponseParameters['200']
  return Object.fromEntries(
    mapping.ResponseParameters.map((one: { Destination: string; Source: string }) => [one.Destination, one.Source]),
  )
}

async function attached(id: string, ...more: string[]): Promise<FakeAws> {
  const aws = new FakeAws()
  expect(await aws.sluice(['attach', id, '--yes', ...more])).toMatchObject({ code: 0 })
  jest.restoreAllMocks()
  return aws
}

const fromRestAttach = async (): Promise<Headers> => {
  const { 'gatewayresponse.header.Access-Control-Allow-Origin': _, ...ours } = (await attached('restapi001')).rest
    .definition.responses.ACCESS_DENIED!.responseParameters
  return ours
}

/** Of a status for which the integration has no mapping of its own. */
const fromHttpAttach = async (): Promise<Headers> =>
  (await attached('httpapi001', '--headers', '201')).http.definition.integrations[0]!.ResponseParameters![201]!

/** What a request to the local gateway is answered with. */
async function fromLocalGateway(api: Api, context: AuthorizerContext): Promise<Headers> {
  const gateway = await startGateway({
    api,
    authorize: async (event) =>
      toAnswer(fromEvent(event), { allowed: context.allowed, context, principalId: 'client:abc' }),
    backend: createBackend(),
    port: 0,
    log: (text) => process.stderr.write(text),
  })
  try {
    return told(Object.fromEntries((await fetch(`http://127.0.0.1:${gateway.port}/hello`)).headers))
  } finally {
    await gateway.close(0)
  }
}

/** What a function behind a REST API gets, where all values are texts. */
const restEvent = (context: AuthorizerContext) => ({
  path: '/hello',
  requestContext: {
    authorizer: Object.fromEntries(Object.entries(context).map(([key, value]) => [key, String(value)])),
  },
})
const httpEvent = (context: AuthorizerContext) => ({
  version: '2.0',
  requestContext: { authorizer: { lambda: context } },
})

async function fromWrapper(event: object): Promise<Headers> {
  const response = await withRateLimit(async (_event: object) => ({ statusCode: 200, headers: {} }))(event)
  return told(response.headers)
}

/** The code of the sample backend as it is deployed. */
const SAMPLE_BACKEND: string = propertiesOf(
  Template.fromStack(new SluiceStack(new App(), 'Sluice')),
  'AWS::Lambda::Function',
  { Code: { ZipFile: Match.stringLikeRegexp('requestContext') } },
).Code.ZipFile

async function fromSampleBackend(context: AuthorizerContext): Promise<Headers> {
  const exports: { handler?: (event: object) => Promise<{ headers: Headers }> } = {}
  runInContext(SAMPLE_BACKEND, createContext({ exports }))
  return { ...(await exports.handler!(restEvent(context))).headers }
}

describe('a denied request', () => {
  const context = contextOf(DENIED)
  const expected = {
    ...retryAfter(DENIED),
    ...xRateLimit(DENIED, NOW),
    'X-RateLimit-Reason': 'over-limit',
    ...draft10(DENIED, SHAPES),
  }

  test.each<[string, () => Headers | Promise<Headers>]>([
    ['the gateway response of the construct', () => rendered(fromRestConstruct(), context)],
    ['the gateway response that attach writes', async () => rendered(await fromRestAttach(), context)],
    ['the local gateway', () => fromLocalGateway(restApi, context)],
    ['the wrapper behind an HTTP API', () => fromWrapper(httpEvent(context))],
  ])('has the same headers from %s', async (_, headers) => expect(await headers()).toEqual(expected))

  test('has no headers on an HTTP API, which answers denials itself', async () => {
    expect(await fromLocalGateway(httpApi, context)).toEqual({})
  })
})

describe('an allowed request', () => {
  const context = contextOf(ALLOWED)
  const expected = { ...xRateLimit(ALLOWED, NOW), ...draft10(ALLOWED, SHAPES) }

  test.each<[string, () => Headers | Promise<Headers>]>([
    ['the mapping of the construct', () => rendered(fromHttpConstruct(), context)],
    ['the mapping that attach writes', async () => rendered(await fromHttpAttach(), context)],
    ['the local gateway as a REST API', () => fromLocalGateway(restApi, context)],
    ['the local gateway as an HTTP API', () => fromLocalGateway(httpApi, context)],
    ['the wrapper behind a REST API', () => fromWrapper(restEvent(context))],
    ['the wrapper behind an HTTP API', () => fromWrapper(httpEvent(context))],
    ['the sample backend', () => fromSampleBackend(context)],
  ])('has the same headers from %s, and no reason', async (_, headers) => expect(await headers()).toEqual(expected))
})

describe('an allowed request about which there is more to tell', () => {
  const cases: readonly [string, Decision, Headers][] = [
    ['past its quota', OVER, overage(OVER)],
    ['in its overrun', { ...ALLOWED, overrun: true }, { 'X-RateLimit-Reason': 'overrun' }],
    ['decided without the table', { ...ALLOWED, degraded: true }, { 'X-RateLimit-Reason': 'degraded' }],
  ]

  test.each(cases)('%s: the wrapper and the local gateway tell it', async (_, decision, more) => {
    const context = contextOf(decision)
    const expected = { ...xRateLimit(decision, NOW), ...more, ...draft10(decision, SHAPES) }
    expect(await fromWrapper(restEvent(context))).toEqual(expected)
    expect(await fromWrapper(httpEvent(context))).toEqual(expected)
    expect(await fromLocalGateway(restApi, context)).toEqual(expected)
  })

  test.each(cases)('%s: mappings and the sample backend, which know no condition, do not', async (_, decision) => {
    const context = contextOf(decision)
    const expected = { ...xRateLimit(decision, NOW), ...draft10(decision, SHAPES) }
    expect(rendered(fromHttpConstruct(), context)).toEqual(expected)
    expect(rendered(await fromHttpAttach(), context)).toEqual(expected)
    expect(await fromSampleBackend(context)).toEqual(expected)
  })
})

test('a request that was not counted has no headers from the wrapper and the sample backend', async () => {
  for (const reason of ['uncounted', 'exempt'] as const) {
    const context = toContext({ reason, now: NOW })
    expect(await fromWrapper(restEvent(context))).toEqual({})
    expect(await fromWrapper(httpEvent(context))).toEqual({})
    expect(await fromSampleBackend(context)).toEqual({})
  }
})
