import { matches, parsePolicy, verdictOf } from '../../lambda/upstream/iam-policy'

const STAGE = 'arn:aws:execute-api:us-east-1:123456789012:abcdef1234/prod'
const GET_PETS = `${STAGE}/GET/pets`

const allow = (Resource: unknown, more: object = {}) => ({
  Effect: 'Allow',
  Action: 'execute-api:Invoke',
  Resource,
  ...more,
})
const deny = (Resource: unknown, more: object = {}) => ({ ...allow(Resource, more), Effect: 'Deny' })
const verdict = (...Statement: unknown[]) => verdictOf(parsePolicy({ Version: '2012-10-17', Statement })!, GET_PETS)

describe('a policy', () => {
  it.each([
    ['the method itself', allow(GET_PETS)],
    ['one of several', allow(['arn:x', GET_PETS])],
    ['its whole stage', allow(`${STAGE}/*`)],
    ['everything', allow('*')],
    ['any action on it', allow(GET_PETS, { Action: '*' })],
    ['the action in any letters', allow(GET_PETS, { Action: ['sns:Publish', 'execute-api:invoke'] })],
    ['all but something else', { Effect: 'Allow', NotAction: 'sns:*', NotResource: `${STAGE}/DELETE/*` }],
  ])('that allows %s allows the request', (_, statement) => expect(verdict(statement)).toBe('allow'))

  it.each([
    ['nothing', []],
    ['another method', [allow(`${STAGE}/POST/pets`)]],
    ['another path', [allow(`${STAGE}/GET/pets/7`)]],
    ['another stage', [allow('arn:aws:execute-api:us-east-1:123456789012:abcdef1234/dev/*')]],
    ['another action', [allow('*', { Action: 'execute-api:ManageConnections' })]],
    ['all but the request', [{ Effect: 'Allow', Action: '*', NotResource: GET_PETS }]],
    ['and denies it, which counts more', [allow('*'), deny(GET_PETS)]],
    ['and denies it first', [deny('*'), allow('*')]],
    ['it on a condition, and denies it without one', [allow('*', { Condition: {} }), deny('*')]],
  ])('that allows %s denies it', (_, statements) => expect(verdict(...statements)).toBe('deny'))

  it('that denies something else does not deny the request', () => {
    expect(verdict(allow('*'), deny(`${STAGE}/DELETE/*`))).toBe('allow')
  })

  it('with a condition or a variable is for API Gateway to apply', () => {
    const Condition = { IpAddress: { 'aws:SourceIp': '203.0.113.0/24' } }
    expect(verdict(allow('*', { Condition }))).toBe('depends')
    expect(verdict(allow('*'), deny('*', { Condition }))).toBe('depends')
    expect(verdict(allow(`${STAGE}/GET/\${aws:username}`))).toBe('depends')
    expect(verdict(allow('*'), allow('*', { Condition }))).toBe('allow')
    expect(verdict(allow('*'), deny(`${STAGE}/POST/*`, { Condition }))).toBe('allow')
  })

  it('is parsed with one statement or with a list, of any version, and stays unchanged', () => {
    expect(parsePolicy({ Statement: allow('*', { Sid: 'one' }) })).toEqual({ Statement: [allow('*', { Sid: 'one' })] })
    expect(parsePolicy({ Version: '2008-10-17', Statement: [] })).toEqual({ Version: '2008-10-17', Statement: [] })
  })

  it.each([
    undefined,
    null,
    7,
    'allow',
    {},
    { Statement: 'allow' },
    { Statement: [null] },
    { Statement: [allow('*')], Version: 2012 },
    { Statement: [{ ...allow('*'), Effect: 'allow' }] },
    { Statement: [{ ...allow('*'), Effect: undefined }] },
    { Statement: [allow(undefined)] },
    { Statement: [allow([])] },
    { Statement: [allow([7])] },
    { Statement: [allow('*', { Action: undefined })] },
    { Statement: [allow('*', { NotResource: '*' })] },
    { Statement: [allow('*', { NotAction: '*' })] },
  ])('is none when it says %j', (input) => expect(parsePolicy(input)).toBeUndefined())
})

describe('a pattern', () => {
  it.each([
    ['', '', true],
    ['*', '', true],
    ['*', 'anything/at:all', true],
    ['**', 'x', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['a*c', 'abbc', true],
    ['a*c', 'abcd', false],
    ['a*bc', 'abxbc', true],
    ['*a*b', 'xaybzab', true],
    ['abc', 'abcd', false],
    ['abcd', 'abc', false],
    ['a.c', 'abc', false],
    ['', 'a', false],
  ])('%j is that of %j: %s', (pattern, text, expected) => expect(matches(pattern, text)).toBe(expected))

  it('is matched in negligible time, whatever path a caller makes up', () => {
    expect(matches(`${'*a'.repeat(200)}b`, 'a'.repeat(10_000))).toBe(false)
  })
})
