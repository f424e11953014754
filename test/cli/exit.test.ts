import { failureOf, InterruptedError, linesOf, ServiceError, UserError } from '../../cli/exit'
import { isLoopback, localAwsEnvironment } from '../../cli/tables/local-engine'
import { ConfigError, Mistake, StoreUnavailableError } from '../../limiter/errors'

const named = (name: string, message: string, fields: object = {}) =>
  Object.assign(new Error(message), { name, ...fields })
const fromService = (name: string, message: string, httpStatusCode: number) =>
  named(name, message, { $metadata: { httpStatusCode } })

describe('an error ends with', () => {
  it.each([
    [new UserError('no'), 1, 'no'],
    [new ConfigError([new Mistake('invalid_value', 'limit is wrong')]), 1, 'limit is wrong'],
    [new InterruptedError('stopped'), 130, 'stopped'],
    [new ServiceError('gone'), 2, 'gone'],
    [
      fromService('AccessDeniedException', 'User is not authorized\nstack', 400),
      1,
      'AWS rejects these credentials: User is not authorized',
    ],
    [
      fromService('UnrecognizedClientException', 'The security token is invalid', 400),
      1,
      'AWS rejects these credentials: The security token is invalid',
    ],
    [
      fromService('InvalidSignatureException', 'Credential should be scoped', 400),
      1,
      'AWS rejects these credentials: Credential should be scoped',
    ],
    [
      named('CredentialsProviderError', 'Could not load credentials from any providers'),
      1,
      'no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; or with npm start SLUICE_DYNAMODB_ENDPOINT (Could not load credentials from any providers)',
    ],
    [
      named('Error', 'Region is missing'),
      1,
      'no AWS Region: set AWS_REGION or use --region, or use --endpoint for another DynamoDB',
    ],
    [fromService('ProvisionedThroughputExceededException', 'too fast', 400), 2, 'the service failed: too fast'],
    [fromService('InternalServerError', 'oh', 500), 2, 'the service failed: oh'],
    [named('TimeoutError', 'took too long'), 2, 'the service failed: took too long'],
    [
      named('AggregateError', '', { code: 'ECONNREFUSED', errors: [new Error('connect ECONNREFUSED ::1:1')] }),
      2,
      'the service failed: connect ECONNREFUSED ::1:1',
    ],
    [new StoreUnavailableError('throttled', 'table "a" throttles'), 2, 'table "a" throttles'],
    [
      new StoreUnavailableError('missing-table', 'there is no table "a" here; make it'),
      1,
      'there is no table "a" here: name it with --state-table or SLUICE_STATE_TABLE',
    ],
    [
      new StoreUnavailableError('refused', 'no', {
        cause: fromService('AccessDeniedException', 'not authorized', 400),
      }),
      1,
      'AWS rejects these credentials: not authorized',
    ],
    [
      new StoreUnavailableError('unusable-client', 'no', { cause: new Error('Region is missing') }),
      1,
      'no AWS Region: set AWS_REGION or use --region, or use --endpoint for another DynamoDB',
    ],
    [
      new StoreUnavailableError('unusable-client', 'client must have a URL as its endpoint, got "x"', {
        cause: named('TypeError', 'Invalid URL', { code: 'ERR_INVALID_URL' }),
      }),
      1,
      'client must have a URL as its endpoint, got "x"',
    ],
  ])('%s: %d', (error, code, message) => {
    expect(failureOf(error)).toEqual({ code, message })
  })

  it('exit code 2 and its stack, when it is a bug', () => {
    const bug = new TypeError('x is not a function')
    expect(failureOf(bug)).toEqual({ code: 2, message: bug.stack })
    expect(failureOf('thrown')).toEqual({ code: 2, message: 'thrown' })
  })
})

describe('a loopback endpoint', () => {
  it.each(['http://localhost:8000', 'http://127.0.0.1:1', 'http://[::1]:8000', 'http://dynamodb.localhost'])(
    'is %s',
    (url) => {
      expect(isLoopback(url)).toBe(true)
    },
  )

  it.each([
    'https://dynamodb.eu-central-1.amazonaws.com',
    'http://localhost.example.com',
    'http://128.0.0.1',
    'http://[::2]',
  ])('is not %s', (url) => {
    expect(isLoopback(url)).toBe(false)
  })

  it('gets placeholder credentials if the environment has none', () => {
    expect(localAwsEnvironment({})).toEqual({
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
    })
    const own = {
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
      AWS_SESSION_TOKEN: 'c',
    }
    expect(localAwsEnvironment(own)).toEqual(own)
  })
})

describe('an error is printed in lines', () => {
  it.each<[unknown, string[]]>([
    [new UserError('no client "a\nb"'), ['no client "a\nb"']],
    [new ServiceError(['nothing was written:', 'a\nb']), ['nothing was written:', 'a\nb']],
    [
      new ConfigError(['a\nb', 'c'].map((message) => new Mistake('invalid_value', message))),
      ['2 mistakes in the configuration:', '  - a\nb', '  - c'],
    ],
    [new ConfigError([new Mistake('invalid_value', 'a\nb')]), ['a\nb']],
    [new StoreUnavailableError('timeout', 'a\nb'), ['a\nb']],
  ])('which no name in it adds to: %s', (error, lines) => expect(linesOf(error)).toEqual(lines))

  it('of which a bug has those of its stack', () => {
    const bug = new Error('bug')
    expect(linesOf(bug)).toEqual(bug.stack!.split('\n'))
  })
})
