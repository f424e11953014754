import { ADDRESS, DEFAULT_IDENTITY, parseIdentity } from '../../lambda/config-table/items/identity-settings'
import type { Mistake } from '../../limiter/errors'

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
  })

  it.each([
    [{}, 'identity must be a list of at most 16 sources, got an object (settings)'],
    [Array(17).fill('api-key'), 'identity must be a list of at most 16 sources, got a list (settings)'],
    [['ip', 'api-key'], 'identity must have "ip" once, as the last source: an address always answers (settings)'],
    [['ip', 'ip'], 'identity must have "ip" once, as the last source: an address always answers (settings)'],
    [['cookie'], /^source must be one of api-key, .*, got "cookie" \(settings, source 1\)$/],
    [['api-key', null], /^source must be one of .*, got null \(settings, source 2\)$/],
    [['constructor'], /^source must be one of /],
    [['header'], /^name is missing, /],
    [
      [{ source: 'header', name: 'x-user' }],
      /^trusted is missing, it must be true, to say that something in front of the API sets it: whoever can set it by himself/,
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
