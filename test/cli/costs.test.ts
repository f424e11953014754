import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { restEvent } from '../authorize/gateway'
import { newAuthorizer } from './authorizer'
import { type Deployment, deploy, sluice } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const now = { now: NOW }
const TIERS = {
  anonymous: { policies: [{ name: 'requests', limit: 20, window: '1h', algorithm: 'fixed-window' }] },
  free: {
    policies: [
      { name: 'requests', limit: 10, window: '1h', algorithm: 'fixed-window' },
      { name: 'tokens', limit: 1000, window: '1h', algorithm: 'fixed-window', cost: 'tokens' },
    ],
  },
}
const CHAT = { costs: { tokens: { query: 'max', default: 300, max: 900 } } }

const folder = mkdtempSync(join(tmpdir(), 'sluice-costs-'))
let at: Deployment
let file: (content: object) => string
let key: string
beforeAll(async () => {
  at = await deploy()
  let files = 0
  file = (content) => {
    const path = join(folder, `${files++}.json`)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  await configure()
  key = (await at.json(['clients', 'create', 'acme', '--tier', 'free'])).apiKey
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await at?.close()
})
afterEach(() => at.json(['reset', 'acme'], now))

const configure = () =>
  at.json(['tiers', 'apply', file({ tiers: TIERS, routes: { 'POST /chat': CHAT } }), '--prune', '--yes'])
/** What `doctor` says, whatever it finds. */
const doctor = async (...args: string[]) => JSON.parse((await at.sluice(['doctor', '--json', ...args], now)).out)

/** A request of the client `acme`, as the authorizer answers it. */
const chat = async (max?: number) => {
  const event = { ...restEvent({ method: 'POST', path: '/chat', key }) }
  const query = max === undefined ? {} : { max: [String(max)] }
  const answer = await newAuthorizer(at, NOW)({ ...event, multiValueQueryStringParameters: query })
  return (answer as { context: Record<string, unknown> }).context
}
const used = async () => {
  const { policies } = await at.json(['usage', 'acme'], now)
  return Object.fromEntries(policies.map((one: { policy: string; used: number }) => [one.policy, one.used]))
}

describe('sluice peek', () => {
  const peek = async (...args: string[]) => {
    const { allowed, policy, cost, costs } = await at.json(['peek', 'acme', ...args], now)
    return { allowed, policy, cost, costs }
  }

  it('takes the costs of the route, of its query, or of --costs', async () => {
    const ofTokens = (tokens: number) => ({ cost: 1, costs: { tokens } })
    expect(await peek()).toMatchObject(ofTokens(1))
    expect(await peek('--route', 'POST /chat')).toMatchObject(ofTokens(300))
    expect(await peek('--route', 'POST /chat?max=50')).toMatchObject(ofTokens(50))
    expect(await peek('--route', 'POST /chat', '--costs', 'tokens=7')).toMatchObject(ofTokens(7))
    expect(await peek('--costs', 'tokens=1001')).toMatchObject({ allowed: false, policy: 'tokens' })
    expect(await peek('--cost', '11', '--costs', 'tokens=0')).toMatchObject({ allowed: false, policy: 'requests' })
    expect(await used()).toEqual({ requests: 0, tokens: 0 })
  })

  it('says them', async () => {
    const { out } = await at.sluice(['peek', 'acme', '--costs', 'tokens=500'], now)
    expect(out).toMatch(/^client:acme \(tier free\): a request of cost 1, tokens 500 would be allowed$/m)
  })

  it.each([
    ['toks=5', 'no policy of client:acme (tier free) there has this cost: did you mean "tokens"?'],
    ['tokens', 'It must be units by the name of a cost, such as "tokens=500".'],
    ['tokens=-5', 'It must be units by the name of a cost'],
    ['tokens=1,tokens=2', '"tokens" is given twice.'],
    ['=5', 'It must be units by the name of a cost'],
  ])('refuses --costs %s', async (costs, sentence) => {
    const { code, err } = await at.sluice(['peek', 'acme', `--costs=${costs}`], now)
    expect([code, err]).toEqual([expect.any(Number), expect.stringContaining(sentence)])
    expect(code).not.toBe(0)
  })

  it('looks with the given cost where the route costs nothing', async () => {
    await at.put({ pk: 'policy-set', sk: 'route#GET /free', cost: 0 })
    expect((await at.sluice(['peek', 'acme', '--route', 'GET /free'], now)).out).toContain('its route costs nothing')
    const given = await peek('--route', 'GET /free', '--costs', 'tokens=1001')
    expect(given).toMatchObject({ allowed: false, policy: 'tokens' })
  })
})

describe('sluice refund', () => {
  it('returns to each policy units of the cost that it counts', async () => {
    expect(await chat(800)).toMatchObject({ allowed: true, cost: 1, costTokens: 800 })
    expect((await at.sluice(['refund', 'acme', '0', '--costs', 'tokens=500'], now)).out).toBe(
      'client:acme (tier free): 500 units returned to tokens\n',
    )
    expect(await used()).toEqual({ requests: 1, tokens: 300 })
    expect((await at.sluice(['refund', 'acme', '1', '--costs', 'tokens=400'], now)).out).toBe(
      'client:acme (tier free): 1 unit returned to requests, 300 of 400 units returned to tokens\n',
    )
    expect(await used()).toEqual({ requests: 0, tokens: 0 })
  })

  it('returns 1 unit of a cost that is not given, as a request takes', async () => {
    await chat(10)
    await chat(10)
    expect(await at.json(['refund', 'acme', '2'], now)).toMatchObject({
      units: 2,
      returned: [
        { policy: 'requests', units: 2 },
        { policy: 'tokens', units: 1 },
      ],
    })
    expect(await used()).toEqual({ requests: 0, tokens: 19 })
  })

  it.each([
    [['0'], 'nothing to return to requests, tokens: the units must be 1 or more'],
    [['5', '--policy', 'tokens'], 'tokens counts tokens and not requests: say how many with --costs tokens=5'],
    [['5', '--costs', 'images=3'], 'no policy of client:acme (tier free) there has this cost: known are tokens'],
    [['0', '--costs', 'tokens=0'], 'nothing to return'],
  ])('refuses %j', async (args, sentence) => {
    await chat(10)
    const { code, err } = await at.sluice(['refund', 'acme', ...args], now)
    expect([code === 0, err]).toEqual([false, expect.stringContaining(sentence)])
    expect(await used()).toEqual({ requests: 1, tokens: 10 })
  })
})

it('sluice usage says which cost a policy counts', async () => {
  await chat(40)
  const { out } = await at.sluice(['usage', 'acme'], now)
  expect(out).toMatch(/^policy +counts +used/m)
  expect(out).toMatch(/^requests +requests +\S+ +1 +9 +10/m)
  expect(out).toMatch(/^tokens +tokens +\S+ +40 +960 +1000/m)
})

it('sluice doctor --event says what a request costs by name', async () => {
  const path = file({ ...restEvent({ method: 'POST', path: '/chat', key }) })
  expect((await at.sluice(['doctor', '--event', path], now)).out).toMatch(/^cost +1, tokens 300$/m)
  const { event } = await doctor('--event', path)
  expect(event.units).toEqual({ cost: 1, costs: { tokens: 300 } })
})

describe('a cost that no policy counts', () => {
  const routes = { 'POST /chat': { costs: { tokns: 5 } }, 'GET /a': { costs: { tokns: 5, images: 2 } } }
  const misspelt =
    'the cost "tokns" of routes "GET /a", "POST /chat" is charged to nothing, because no policy has it: did you mean "tokens"?'

  it('is a warning of tiers diff, apply, validate and doctor', async () => {
    const path = file({ tiers: TIERS, routes })
    const warnings = [misspelt, expect.stringContaining('the cost "images" of route "GET /a" is charged to nothing')]
    expect((await at.json(['tiers', 'diff', path])).warnings).toEqual(warnings)
    const { out } = await sluice(['tiers', 'validate', path, '--json'])
    expect(JSON.parse(out).warnings).toEqual(warnings)
    expect((await at.json(['tiers', 'apply', path, '--yes'])).warnings).toEqual(warnings)
    expect((await at.json(['tiers', 'apply', path, '--yes'])).warnings).toEqual([])
    const { checks } = await doctor()
    expect(checks).toContainEqual(expect.objectContaining({ name: 'costs', status: 'warning' }))
    await configure()
  })

  it('is none where each is counted by some policy', async () => {
    const { checks } = await doctor()
    expect(checks.filter(({ name }: { name: string }) => name === 'costs')).toEqual([])
  })
})

it('costs are exported in one order, and shown line by line where they change', async () => {
  const { out } = await at.sluice(['tiers', 'export'])
  expect(out).toContain('costs:\n      tokens:\n        query: max\n        default: 300\n        max: 900\n')
  const changed = file({ tiers: TIERS, routes: { 'POST /chat': { costs: { tokens: 5 } } } })
  const { out: diff } = await at.sluice(['tiers', 'diff', changed])
  expect(diff).toContain('    - costs: { tokens: { query: max, default: 300, max: 900 } }')
  expect(diff).toContain('    + costs: { tokens: 5 }')
})
