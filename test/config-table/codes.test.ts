import { readPolicySet } from '../../cli/tiers/read-policy-set'
import { parseClientItem } from '../../lambda/config-table/items/client-item'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { parseKeyRing, type RingKind } from '../../lambda/config-table/items/key-ring'
import { SIGNING_RING } from '../../lambda/config-table/items/signing-keys'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import type { Mistake } from '../../limiter/errors'
import { policy } from '../policies/issues'

const anonymous = { policies: [] }
const many = (count: number) => Array.from({ length: count }, (_, i) => policy({ name: `p${i}` }))
const jwt = (changes: object = {}) => ({ source: 'jwt', issuer: 'https://one.example', audience: 'api', ...changes })
const identity = (...sources: unknown[]) => ({ settings: { identity: sources } })

describe('programs know a mistake by its code:', () => {
  it.each<[code: string, items: Readonly<Record<string, object>>]>([
    ['invalid_name', { 'tier#a b': { policies: [] } }],
    ['invalid_name', { 'tier#free @a b': { apis: ['a1'], policies: [] } }],
    ['invalid_name', { 'api#a b': {} }],
    ['invalid_route', { 'route#FETCH /a': {} }],
    ['duplicate_route', { 'route#GET /{a}': {}, 'route#GET /{b}': {} }],
    ['duplicate_route', { 'route#GET /{a}': {}, 'route#GET /{b}': {}, 'route#GET /{b} @x': { apis: ['a1'] } }],
    ['field_not_applicable', { 'tier#anonymous': { apis: ['a1'], policies: [] } }],
    ['field_not_applicable', { settings: { preflight: policy() } }],
    ['field_not_applicable', identity(jwt({ tokenUse: 'id' }))],
    ['missing_field', identity(jwt({ tiersByRole: { gold: 'pro' } }))],
    ['missing_field', { 'tier#free @a': { policies: [] } }],
    ['overlapping_scopes', { 'route#GET /a @x': { apis: ['a1'] }, 'route#GET /a @y': { apis: ['a1'] } }],
    ['duplicate_label', { 'api#a1': { label: 'shop' }, 'api#b2': { label: 'a1' } }],
    ['invalid_identity', { settings: { identity: 'api-key' } }],
    ['invalid_identity', identity('ip', 'api-key')],
    ['invalid_identity', identity('cookie')],
    ['invalid_identity', identity(jwt({ namespace: 'a' }), jwt({ issuer: 'https://two.example', namespace: 'a' }))],
    ['invalid_identity', identity(jwt({ namespace: 'a' }), jwt({ namespace: 'b' }))],
    ['too_many', { global: { policies: many(20) }, 'tier#free': { policies: many(11) } }],
    ['duplicate_name', { global: { by: 'client', policies: [policy()] }, 'tier#free': { policies: [policy()] } }],
    ['unknown_tier', { global: { policies: [policy({ tiers: ['gold'] })] } }],
    ['untrusted_header', { global: { by: 'header:x-tenant', policies: [policy()] } }],
  ])('%s: %j', (code, items) => {
    const all = Object.entries({ 'tier#anonymous': anonymous, ...items })
    const { issues } = readPolicySet(all.map(([sk, item]) => ({ pk: CONFIG_TABLE.policySet, sk, ...item })))
    expect([...new Set(issues.map((issue) => issue.code))]).toEqual([code])
  })

  it.each([
    ['too_many', Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, { limit: 1 }]))],
    ['fields_conflict', { p: { limit: 1, factor: 2 } }],
    ['fields_conflict', { p: { burst: 1, factor: 2 } }],
  ])('%s of a client', (code, overrides) => {
    const issues: Mistake[] = []
    expect(parseClientItem({ id: 'a', tier: 'free', overrides }, issues)).toBeUndefined()
    expect(issues.map((issue) => issue.code)).toEqual([code])
  })

  it.each([
    ['invalid_hmac_key', HMAC_RING],
    ['invalid_signing_key', SIGNING_RING],
  ])('%s', (code, kind: RingKind) => {
    const issues: Mistake[] = []
    parseKeyRing(kind, { keys: [{ key: 'x', activeFrom: 0 }] }, issues)
    expect(issues.map((issue) => issue.code)).toEqual([code])
  })
})
