import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { stringify } from 'yaml'
import { RateLimiter, type RateLimiterProps, type TiersInCode } from '../../lib'

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The items that a deployment with these props writes. */
function seeded(props: RateLimiterProps): unknown[] {
  const stack = new Stack()
  new RateLimiter(stack, 'Limiter', props)
  const [resource] = Object.values(Template.fromStack(stack).findResources('Custom::SluiceTiers'))
  return (resource!.Properties.Items as string[]).map((item) => JSON.parse(item))
}

const FREE = { policies: [{ limit: 60, window: '1m' }] } as const
const message = (props: object): string => {
  try {
    seeded(props)
    return 'valid'
  } catch (error) {
    return (error as Error).message
  }
}

describe('tiers in the code of an app', () => {
  it('are the items that a file with the same would be', () => {
    const code: TiersInCode = {
      tiers: {
        anonymous: {
          by: 'ip',
          policies: [{ name: 'a', limit: 20, window: '1m', algorithm: 'gcra', burst: undefined }],
        },
        free: {
          credentials: 'required',
          policies: [
            { name: 'b', limit: 100_000, window: 'month', algorithm: 'fixed-window', overage: 'allow' },
            { name: 'c', limit: 9, window: '1h', cost: 'tokens', settle: true },
            { name: 'd', algorithm: 'concurrency', limit: 4, timeout: '1m' },
          ],
        },
      },
      routes: { 'POST /chat': { costs: { tokens: { header: 'X-Max', max: 100 } }, by: ['client', 'route'] } },
      global: { policies: [{ name: 'e', limit: 1000, window: '1s', tiers: ['free'] }] },
      settings: { defaultTier: 'free' },
    }
    const tiersFile = join(folder, 'same.yaml')
    writeFileSync(tiersFile, stringify(JSON.parse(JSON.stringify(code))))
    expect(seeded(code)).toEqual(seeded({ tiersFile }))
  })

  it('name policies that have no name by what they count', () => {
    const policies = [
      FREE.policies[0],
      { limit: 5000, window: '1m', cost: 'tokens' },
      { algorithm: 'concurrency', limit: 2, timeout: '30s' },
    ] as const
    const [tier] = seeded({ tiers: { anonymous: { policies } } }) as [{ policies: { name: string }[] }]
    expect(tier.policies.map(({ name }) => name)).toEqual(['per-1m', 'tokens-per-1m', 'running'])
    expect(message({ tiers: { anonymous: { policies: [FREE.policies[0], FREE.policies[0]] } } })).toContain(
      'name must be unique, and policy 1 has this one already (tiers, tier "anonymous", policy "per-1m")',
    )
  })

  it('take an identity of the app', () => {
    const tiers = { anonymous: FREE }
    expect(seeded({ tiers, identity: ['api-key', 'ip'] })).toContainEqual(
      expect.objectContaining({ sk: 'settings', identity: ['api-key', 'ip'] }),
    )
    expect(message({ tiers, identity: 'ip', settings: { identity: ['ip'] } })).toContain(
      'identity must be set once, by the prop or in the settings beside the tiers, got both (tiers)',
    )
  })

  it.each([
    [{ tiers: { free: FREE }, tiersFile: 'tiers.yaml' }, 'tiers does not go with tiersFile, got both: keep one'],
    [{ routes: {} }, 'routes needs tiers: without them all of it is in a tiersFile'],
    [{ tiers: { free: FREE } }, 'anonymous'],
    [
      { tiers: { anonymous: { policies: [{ limit: 0, window: '1m' }] } } },
      'limit must be a positive integer, got 0 (tiers, tier "anonymous", policy "per-1m")',
    ],
    [{ tiers: { anonymous: { policies: 'all' } } }, 'policies must be a list, got "all"'],
    [{ tiers: { anonymous: { policies: [null] } } }, 'a policy must be an object'],
    [{ tiers: { anonymous: { ...FREE, limits: 3 } } }, 'unknown field "limits"'],
    [{ tiers: null }, 'tiers must be tiers by name, got null'],
    [{ tiers: { anonymous: null } }, 'a tier must be an object, got null'],
  ])('%j is refused at the synth', (props, why) => {
    expect(message(props)).toContain(why)
  })
})
