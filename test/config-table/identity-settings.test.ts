import { ADDRESS, DEFAULT_IDENTITY, parseIdentity } from '../../lambda/config-table/items/identity-settings'
import { Mistake } from '../../limiter/errors'

const PLACE = ['settings']

function parsed(input: unknown) {
  const issues: Mistake[] = []
  return { sources: parseIdentity(input, PLACE, issues), issues: issues.map(String) }
}

describe('the sources of identity', () => {
  it('are API keys, and then the address, by default', () => {
    expect(parsed(undefined)).toEqual({ sources: DEFAULT_IDENTITY, issues: [] })
  })

  it('are those listed, in that order, with the address at the end', () => {
    const { sources, issues } = parsed([
      'api-gateway-key',
      { source: 'api-key', header: 'X-My-Key' },
      'client-certificate',
      { source: 'header', name: 'X-User', trusted: true, as: 'user', tier: 'pro' },
      { source: 'query', name: 'Key', trusted: true, lookup: true },
      { source: 'path', name: 'tenant', trusted: true },
    ])
    expect(issues).toEqual([])
    expect(sources).toEqual([
      { source: 'api-gateway-key' },
      { source: 'api-key', header: 'x-my-key' },
      { source: 'client-certificate' },
      { source: 'header', name: 'x-user', as: 'user', tier: 'pro', lookup: false },
      { source: 'query', name: 'Key', as: 'client', lookup: true },
      { source: 'path', name: 'tenant', as: 'client', lookup: false },
      ADDRESS,
    ])
  })

  it('say how the address is read', () => {
    expect(parsed(['api-key', { source: 'ip', ipv6Prefix: 64, trustedHops: 2 }]).sources.at(-1)).toEqual({
      source: 'ip',
      ipv6Prefix: 64,
      trustedHops: 2,
      viewerAddress: false,
    })
    expect(parsed([]).sources).toEqual([ADDRESS])
    expect(parsed(['ip', 'client-certificate'].toReversed()).sources).toEqual([
      { source: 'client-certificate' },
      ADDRESS,
    ])
    expect(parsed([{ source: 'ip', viewerAddress: true }])).toEqual({
      sources: [{ ...ADDRESS, viewerAddress: true }],
      issues: [],
    })
  })

  it('have defaults each, and may be sixteen', () => {
    expect(parsed(['api-key']).sources).toEqual([{ source: 'api-key', header: 'x-api-key' }, ADDRESS])
    expect(parsed(Array(16).fill('api-key'))).toMatchObject({ issues: [], sources: { length: 17 } })
  })

  it('may be several issuers of tokens, whose users are kept apart', () => {
    const jwt = (name: string) => ({ source: 'jwt', issuer: `https://${name}.example`, audience: 'api' })
    const { sources, issues } = parsed(['api-key', jwt('one'), 'client-certificate', jwt('two')])
    expect(issues).toEqual([])
    expect(sources.map((one) => [one.source, 'namespace' in one ? one.namespace : undefined])).toEqual([
      ['api-key', undefined],
      ['jwt', ''],
      ['client-certificate', undefined],
      ['jwt', 'https%3A%2F%2Ftwo.example'],
      ['ip', undefined],
    ])
  })

  it('are parsed although another item had a mistake, and without those that are invalid', () => {
    const issues = [new Mistake('invalid_value', 'one from before')]
    expect(parseIdentity(['client-certificate', 'cookie', { source: 'path' }], PLACE, issues)).toEqual([
      { source: 'client-certificate' },
      ADDRESS,
    ])
    expect(issues.slice(1).map(String)).toEqual([
      expect.stringMatching(/^source must be one of .* \(settings, source 2\)$/),
      expect.stringMatching(/^name is missing, .* \(settings, source 3\)$/),
      expect.stringMatching(/^trusted is missing, .* \(settings, source 3\)$/),
    ])
    expect(parseIdentity('api-key', PLACE, issues)).toBe(DEFAULT_IDENTITY)
  })

  it.each([
    [{}, 'identity must be a list of at most 16 sources, got an object (settings)'],
    [Array(17).fill('api-key'), 'identity must be a list of at most 16 sources, got a list (settings)'],
    [['ip', 'api-key'], 'identity must have "ip" once, as the last source: every request has an address (settings)'],
    [['ip', 'ip'], 'identity must have "ip" once, as the last source: every request has an address (settings)'],
    [['cookie'], /^source must be one of api-key, .*, got "cookie" \(settings, source 1\)$/],
    [['api-key', null], /^source must be one of .*, got null \(settings, source 2\)$/],
    [['constructor'], /^source must be one of /],
    [[{ source: ['ip'] }], /^source must be one of .*, got a list/],
    [[{ name: 'x' }], /^source must be one of .*, got an object/],
    [['ip', 'api-key', 'ip'], /^identity must have "ip" once/],
    [['header'], /^name is missing, /],
    [
      [{ source: 'header', name: 'x-user' }],
      /^trusted is missing, it must be true, to confirm that a system in front of the API sets it: callers who can set it/,
    ],
    [[{ source: 'header', name: 'x-user', trusted: false }], /^trusted must be true, .* got false/],
    [[{ source: 'header', name: 'x user', trusted: true }], /^name must be the name of a header, got "x user"/],
    [[{ source: 'ip', ipv6Prefix: 0 }], /^ipv6Prefix must be an integer from 1 to 128, got 0/],
    [[{ source: 'ip', trustedHops: 17 }], /^trustedHops must be an integer from 0 to 16, got 17/],
    [[{ source: 'ip', hops: 1 }], /^unknown field "hops"/],
  ])('%j is a mistake', (input, sentence) => {
    const [issue] = parsed(input).issues
    if (typeof sentence === 'string') expect(issue).toBe(sentence)
    else expect(issue).toMatch(sentence)
  })
})
