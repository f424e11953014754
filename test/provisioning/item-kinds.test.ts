import { parsePolicyItem } from '../../lambda/config-table/items/config-items'
import { SOURCE_FIELDS } from '../../lambda/config-table/items/identity-settings'
import type { Mistake } from '../../limiter/errors'
import { ITEM_KINDS, type ItemKind, kindOf, ordered } from '../../provisioning/item-kinds'
import { contentHash, contentOf, diff, fileOf, isInFile, itemsOf } from '../../provisioning/tiers-file'

const KINDS: readonly [string, ItemKind][] = Object.entries(ITEM_KINDS)

/** A sort key of each kind that is in the partition `policy-set`. */
const KEYS: Readonly<Record<string, string>> = {
  settings: 'settings',
  scopedSettings: 'settings @dev',
  tier: 'tier#free',
  route: 'route#GET /a',
  global: 'global',
  modeSwitch: 'switch',
  api: 'api#abcdef1234',
  access: 'block#ip#192.0.2.1',
}

/** An object with these fields, in the wrong order. */
const backwards = (fields: object) =>
  Object.fromEntries(
    Object.keys(fields)
      .reverse()
      .map((name) => [name, name]),
  )

describe('a kind of item', () => {
  it('is known by its sort key, to the table and to the authorizer’s parser alike', () => {
    expect(Object.keys(KEYS)).toEqual(Object.keys(ITEM_KINDS).filter((name) => name !== 'client'))
    for (const [name, sk] of Object.entries(KEYS)) {
      expect([sk, kindOf(sk)]).toEqual([sk, ITEM_KINDS[name as keyof typeof ITEM_KINDS]])
      const issues: Mistake[] = []
      parsePolicyItem({ pk: 'policy-set', sk }, issues)
      expect(issues.map(({ code }) => code)).not.toContain('invalid_item_key')
    }
    for (const sk of ['tiers#free', 'globals', 'settings@dev', '', undefined, 7, 'constructor']) {
      expect([sk, kindOf(sk)]).toEqual([sk, undefined])
      const issues: Mistake[] = []
      parsePolicyItem({ pk: 'policy-set', sk }, issues)
      expect(issues.map(({ code }) => code)).toEqual(['invalid_item_key'])
    }
  })

  it('has no field in its description that the parser does not know', () => {
    for (const [name, sk] of Object.entries(KEYS)) {
      const { fields } = ITEM_KINDS[name as keyof typeof ITEM_KINDS] as ItemKind
      const issues: Mistake[] = []
      parsePolicyItem({ pk: 'policy-set', sk, ...backwards(fields) }, issues)
      expect(issues.filter(({ code }) => code === 'unknown_field')).toEqual([])
    }
  })

  it.each(KINDS)('%s is written in the order of its description, what nobody knows at the end', (_, kind) => {
    const { fields, inner = {} } = kind
    const given = { zebra: { b: 1, a: [{ d: 1, c: 1 }] }, ant: 1, ...backwards(fields) }
    const written = ordered(given, kind)
    expect(Object.keys(written)).toEqual([...Object.keys(fields), 'ant', 'zebra'])
    expect(JSON.stringify(written.zebra)).toBe('{"a":[{"c":1,"d":1}],"b":1}')
    for (const [field, one] of Object.entries(inner)) {
      if ('object' in one) {
        const [object] = [ordered({ [field]: backwards(one.object) }, kind)[field] as object]
        expect(Object.keys(object)).toEqual(Object.keys(one.object))
        continue
      }
      if ('mapOf' in one) {
        const named = ordered({ [field]: { b: backwards(one.mapOf), a: 5 } }, kind)[field] as Record<string, object>
        expect([Object.keys(named), Object.keys(named.b!)]).toEqual([['a', 'b'], Object.keys(one.mapOf)])
        continue
      }
      const alternatives = 'tag' in one ? Object.entries(one.listOf) : [['', one.listOf] as const]
      for (const [word, rules] of alternatives) {
        const element = { ...backwards(rules), ...('tag' in one && { [one.tag]: word }) }
        const [after] = ordered({ [field]: [element] }, kind)[field] as [object]
        expect(Object.keys(after)).toEqual(Object.keys(rules))
      }
    }
  })

  it.each(KINDS)('%s keeps what stands in place of a list or an object as it is', (_, kind) => {
    for (const field of Object.keys(kind.inner ?? {}))
      for (const value of [null, 7, 'text', [], [null, 7, 'api-key'], new Set(['b', 'a']), new Uint8Array([2, 1])])
        expect(ordered({ [field]: value }, kind)).toEqual({ [field]: value })
    expect(ordered({ identity: [{ source: 'constructor', b: 1 }] }, kind)).toEqual({
      identity: [{ source: 'constructor', b: 1 }],
    })
  })
})

describe('tiers export', () => {
  it('begins each source of identity with its name, and has a policy’s tiers after whom it counts', () => {
    const jwt = { audience: 'a', issuer: 'https://a.example', source: 'jwt' }
    const route = { policies: [{ tiers: ['free'], by: 'ip', window: '1m', limit: 1, name: 'a' }] }
    const items = itemsOf({
      settings: { mode: 'observe', identity: ['api-key', jwt] },
      tiers: {},
      routes: { 'GET /a': route },
    })
    expect(JSON.stringify(fileOf(items))).toBe(
      JSON.stringify({
        settings: {
          identity: ['api-key', { source: 'jwt', issuer: 'https://a.example', audience: 'a' }],
          mode: 'observe',
        },
        tiers: {},
        routes: { 'GET /a': { policies: [{ name: 'a', limit: 1, window: '1m', by: 'ip', tiers: ['free'] }] } },
      }),
    )
    for (const fields of Object.values(SOURCE_FIELDS)) expect(Object.keys(fields)[0]).toBe('source')
  })
})

describe('a field that is stored under another name', () => {
  const keys = { pk: 'policy-set', sk: 'tier#free' }
  const [written, stored] = [
    { ...keys, failureMode: 'deny', by: 'client', policies: [] },
    { ...keys, onStoreError: 'deny', by: 'client', policies: [] },
  ]

  it('has the hash that earlier releases wrote into exported files, under either name', () => {
    expect([contentHash(written), contentHash(stored)]).toEqual(['06c2be2b51dee47f', '06c2be2b51dee47f'])
    expect(diff([written], [stored])).toEqual([])
  })

  it('is shown under its present name, and both at once stay for the parser to refuse', () => {
    expect(contentOf(stored)).toEqual(contentOf(written))
    const both = { ...stored, failureMode: 'allow' }
    expect(contentOf(both)).toEqual({ onStoreError: 'deny', failureMode: 'allow', by: 'client', policies: [] })
    expect(itemsOf({ tiers: { free: contentOf(both) } })).toEqual([both])
    expect(isInFile(both)).toBe(true)
  })
})
