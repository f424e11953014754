import { toAnswer, unauthorized } from '../../lambda/responses/answers'
import { toContext } from '../../lambda/responses/context'
import { fromEvent } from '../../lambda/responses/request'
import httpAllowed from './answers/http-allowed.json'
import restAllowed from './answers/rest-allowed.json'
import restDenied from './answers/rest-denied.json'
import websocketDenied from './answers/websocket-denied.json'
import { ALLOWED, DENIED, NOW, SHAPES } from './decisions'
import httpRequest from './events/http-request.json'
import restRequest from './events/rest-request.json'
import websocketConnect from './events/websocket-connect.json'

const facts = { shapes: SHAPES, tier: 'free', subject: 'client:abc', now: NOW }
const allowed = { allowed: true, context: toContext({ decision: ALLOWED, ...facts }), principalId: 'client:abc' }
const denied = { allowed: false, context: toContext({ decision: DENIED, ...facts }), principalId: 'client:abc' }

test.each([
  ['a REST request that is allowed', restRequest, allowed, restAllowed],
  ['a REST request that is denied', restRequest, denied, restDenied],
  ['an HTTP request that is allowed', httpRequest, allowed, httpAllowed],
  ['a WebSocket connection that is denied', websocketConnect, denied, websocketDenied],
])('%s', (_, event, ruling, golden) => {
  const answer = toAnswer(fromEvent(event), ruling)
  expect(JSON.parse(JSON.stringify(answer))).toEqual(golden)
})

test('an HTTP request that is denied keeps its context', () => {
  expect(toAnswer(fromEvent(httpRequest), denied)).toEqual({ isAuthorized: false, context: denied.context })
})

test('an HTTP request over the limit can be passed to the backend, which answers 429', () => {
  const answer = toAnswer(fromEvent(httpRequest), { ...denied, denials: 'backend' as const })
  expect(answer).toMatchObject({ isAuthorized: true, context: { allowed: false, rateLimited: true } })
})

test('no other denied request reaches the backend, even where the gateway can answer 429', () => {
  const undecided = { ...denied, context: toContext({ reason: 'unavailable', now: NOW }), denials: 'backend' as const }
  expect(toAnswer(fromEvent(httpRequest), undecided)).toMatchObject({ isAuthorized: false })
  expect(toAnswer(undefined, { ...denied, denials: 'backend' as const })).toMatchObject({
    policyDocument: { Statement: [{ Effect: 'Deny' }] },
  })
  for (const event of [restRequest, websocketConnect]) {
    const answer = toAnswer(fromEvent(event), { ...denied, denials: 'backend' as const })
    expect(answer).toMatchObject({ policyDocument: { Statement: [{ Effect: 'Deny' }] } })
  }
})

test('an event that is not a request is denied, even if the outcome says otherwise', () => {
  expect(toAnswer(undefined, allowed)).toEqual({
    principalId: 'client:abc',
    policyDocument: {
      Version: '2012-10-17',
      Statement: [{ Action: 'execute-api:Invoke', Effect: 'Deny', Resource: '*' }],
    },
    context: allowed.context,
  })
})

describe('the resource of a policy', () => {
  const stage = 'arn:aws:execute-api:us-east-1:123456789012:abcdef1234/prod/'
  const wildcard = `${stage}*`
  const arnOf = (bytes: number) => `${stage}GET/`.padEnd(bytes, 'x')

  test.each([
    ['512 bytes: just short enough', arnOf(512), arnOf(512)],
    ['513 bytes: just too long', arnOf(513), wildcard],
    ['1,600 bytes, the longest there is', arnOf(1_600), wildcard],
    ['512 characters of two bytes', `${stage}GET/${'é'.repeat(300)}`, wildcard],
    ['a path that IAM would take for a variable', `${stage}GET/\${aws:username}`, wildcard],
    [
      'a partition of its own',
      'arn:aws-cn:execute-api:cn-north-1:1:a/s/GET/',
      'arn:aws-cn:execute-api:cn-north-1:1:a/s/GET/',
    ],
    ['no ARN', 'GET /users', '*'],
    ['something before the ARN', `x${stage}GET/`, '*'],
    ['an ARN without a stage', 'arn:aws:execute-api:us-east-1:123456789012:abcdef1234', '*'],
    ['a stage too long for a policy', `arn:aws:execute-api:us-east-1:1:a/${'s'.repeat(600)}/GET/`, '*'],
    ['nothing', undefined, '*'],
  ])('%s', (_, methodArn, Resource) => {
    const answer = toAnswer(fromEvent({ ...restRequest, methodArn }), allowed)
    expect(answer).toMatchObject({ policyDocument: { Statement: [{ Effect: 'Allow', Resource }] } })
  })
})

test.each([
  ['', 'unknown'],
  ['ä"\n', '___'],
  ['x'.repeat(2_000), 'x'.repeat(128)],
])('the principal %j is written as %j', (principalId, written) => {
  expect(toAnswer(fromEvent(restRequest), { ...allowed, principalId })).toMatchObject({ principalId: written })
})

test('invalid credentials throw an error with exactly the message that API Gateway knows', () => {
  expect(unauthorized).toThrow(new Error('Unauthorized'))
})
