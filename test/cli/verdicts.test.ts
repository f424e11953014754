import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeleteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import fc from 'fast-check'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { hashApiKey } from '../../lambda/identity/api-key'
import type { AuthorizerContext } from '../../lambda/responses/context'
import { runs } from '../runs'
import { newAuthorizer } from './authorizer'
import { type Deployment, deploy } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const [ENDED, AHEAD] = ['2026-11-20', '2026-12-24']
const ADDRESS = '203.0.113.7'

const folder = mkdtempSync(join(tmpdir(), 'sluice-verdicts-'))
let at: Deployment
beforeAll(async () => {
  at = await deploy()
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await at?.close()
})

const orNone = <T>(...values: T[]) => fc.constantFrom(undefined, ...values)
const policy = (name: string, limit: number, more: object = {}) => ({ name, limit, window: '1h', ...more })

/** Everything that can decide what becomes of a request before, beside or by its limits. */
const situations = fc.record({
  who: fc.constantFrom('client' as const, 'client' as const, 'address' as const, 'unknown key' as const),
  tier: fc.constantFrom('free', 'free', 'pro', 'gone'),
  defaultTier: orNone('pro'),
  anonymousMust: orNone('required'),
  credentials: fc.array(
    fc.record({ disabled: orNone(true, false), expiresAt: orNone(ENDED, AHEAD, AHEAD) }, { requiredKeys: [] }),
    { minLength: 1, maxLength: 2 },
  ),
  overrides: orNone<object>(
    { own: { limit: 1 } },
    { own: { limit: 1, until: ENDED } },
    { own: { factor: 2, until: AHEAD } },
    { nothing: { limit: 7 } },
  ),
  listed: orNone<readonly [string, string?]>(
    ['block'],
    ['block', ENDED],
    ['block', AHEAD],
    ['allow'],
    ['allow', ENDED],
  ),
  listedToo: orNone<readonly [string, string?]>(['block', ENDED], ['allow', AHEAD]),
  switched: orNone('off', 'observe'),
  mode: orNone('off', 'observe'),
  global: orNone<object>(
    policy('all', 2, { by: 'global' }),
    policy('each', 2, { by: 'client' }),
    policy('for-pro', 1, { tiers: ['pro'] }),
    policy('tokens', 9, { by: 'client', cost: 'tokens' }),
    policy('own', 9, { by: 'global', cost: 'tokens' }),
  ),
  route: orNone<object>(
    { cost: 2 },
    { cost: 0 },
    { policies: [policy('search', 1)] },
    { policies: [policy('search', 1, { blockFor: '2h' })] },
    { policies: [policy('search', 1, { by: 'route' })], cost: 2 },
    { credentials: 'required' },
    { costs: { tokens: 4 } },
    { cost: 0, costs: { tokens: 4 } },
    { cost: 2, costs: { tokens: 0 } },
    { cost: 0, costs: { tokens: 0 } },
    { policies: [policy('search', 5, { cost: 'tokens' })], costs: { tokens: { query: 'n', default: 3, max: 9 } } },
  ),
  routed: fc.boolean(),
})
type Situation = typeof situations extends fc.Arbitrary<infer T> ? T : never

/** Makes the tables say so, and nothing else. */
async function configure(it: Situation): Promise<readonly string[]> {
  const documents = DynamoDBDocumentClient.from(at.client)
  for (const [TableName, names] of [
    [LOCAL_TABLES.config, ['pk', 'sk']],
    [LOCAL_TABLES.state, ['pk']],
  ] as const) {
    const { Items = [] } = await documents.send(new ScanCommand({ TableName }))
    for (const item of Items) {
      const Key = Object.fromEntries(names.map((name) => [name, item[name]]))
      await documents.send(new DeleteCommand({ TableName, Key }))
    }
  }
  const set = (sk: string, fields: object) => ({ pk: 'policy-set', sk, ...fields })
  const entry = ([access, expiresAt]: readonly [string, string?]) =>
    set(`${access}#${it.who === 'client' ? 'client#acme' : `ip#${ADDRESS}`}`, expiresAt ? { expiresAt } : {})
  const keys = it.credentials.map((_, i) => `key-${i}`)
  const anonymous = { ...(it.anonymousMust && { credentials: it.anonymousMust }) }
  await at.put(
    set('tier#anonymous', { policies: [policy('own', 2)], ...anonymous }),
    set('tier#free', { policies: [policy('own', 2), policy('day', 3, { algorithm: 'fixed-window' })] }),
    set('tier#pro', { policies: [policy('own', 3)] }),
    ...(it.defaultTier || it.mode ? [set('settings', { defaultTier: it.defaultTier, mode: it.mode })] : []),
    ...(it.switched ? [set('switch', { mode: it.switched })] : []),
    ...(it.global ? [set('global', { policies: [it.global] })] : []),
    ...(it.route ? [set('route#GET /search', it.route)] : []),
    ...(it.listedToo ? [entry(it.listedToo)] : []),
    ...(it.listed ? [entry(it.listed)] : []),
    ...it.credentials.map((fields, i) => ({
      ...{ pk: `client#${hashApiKey(keys[i]!)}`, sk: 'client', id: 'acme', tier: it.tier },
      ...fields,
      ...(it.overrides && { overrides: it.overrides }),
    })),
  )
  return keys
}

/** One good credential is enough. */
const bestOf = ({ credentials }: Situation): number => {
  const good = credentials.findIndex(({ disabled, expiresAt }) => !disabled && expiresAt !== ENDED)
  return Math.max(0, good)
}

function eventOf(it: Situation, keys: readonly string[]) {
  const key = it.who === 'client' ? keys[bestOf(it)] : it.who === 'address' ? undefined : 'made up'
  const [method, rawPath] = ['GET', it.routed && it.route ? '/search' : '/else']
  const headers = key === undefined ? {} : { 'x-api-key': key }
  return { version: '2.0', rawPath, headers, requestContext: { http: { method, sourceIp: ADDRESS } } }
}

/** The client, or the address of whoever is anonymous. */
const subjectOf = ({ who }: Situation): string => (who === 'client' ? 'acme' : `ip:${ADDRESS}`)

type Verdict = Pick<AuthorizerContext, 'allowed' | 'reason' | 'policy' | 'limit' | 'remaining'>
const verdictIn = ({ allowed, reason, policy, limit, remaining }: Verdict): Verdict => ({
  allowed,
  reason,
  policy,
  limit,
  remaining,
})

describe('the verdict of peek, of doctor --event and of the authorizer', () => {
  const file = join(folder, 'event.json')
  const now = { now: NOW }

  async function peek(it: Situation): Promise<Verdict & { readonly tier: string }> {
    const route = it.routed && it.route ? ['--route', 'GET /search'] : []
    const {
      reason,
      policy = '',
      limit = 0,
      remaining = 0,
      ...said
    } = await at.json(['peek', subjectOf(it), ...route], now)
    return { ...said, reason: reason ?? (said.allowed ? 'ok' : 'over-limit'), policy, limit, remaining }
  }

  it('is the same for the next request, whatever is configured', async () => {
    await fc.assert(
      fc.asyncProperty(situations, async (it) => {
        const keys = await configure(it)
        const event = eventOf(it, keys)
        writeFileSync(file, JSON.stringify(event))
        let reason: AuthorizerContext['reason'] | undefined
        for (let request = 0; request < 3; request++) {
          const peeked = await peek(it)
          const explained = request % 2 === 0 && (await at.sluice(['doctor', '--event', file, '--json'], now)).out
          const { context } = (await newAuthorizer(at, NOW)(event)) as unknown as { context: AuthorizerContext }
          if (explained) expect(verdictIn(JSON.parse(explained).event.context)).toEqual(verdictIn(context))
          expect(verdictIn(peeked)).toEqual(verdictIn(context))
          if (context.tier) expect(peeked.tier).toBe(context.tier)
          reason = context.reason
        }
        const shown = (await at.json(['usage', subjectOf(it)], now)).reason
        if (['blocked', 'exempt'].includes(reason ?? '') || shown === 'blocked') expect(shown).toBe(reason)
      }),
      { numRuns: runs(2, 40) },
    )
  })
})
