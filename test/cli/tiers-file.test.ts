import fc from 'fast-check'
import { parse } from 'yaml'
import { exportedAfter, planApply } from '../../cli/tiers/apply-plan'
import { lineDiff } from '../../cli/tiers/diff-text'
import { readPolicySet } from '../../cli/tiers/read-policy-set'
import { applied, safeOrder } from '../../cli/tiers/safe-order'
import { toYaml } from '../../cli/tiers/tiers-yaml'
import {
  assertRoom,
  contentHash,
  diff,
  fileOf,
  hashesOf,
  itemsOf,
  type PolicySetItem,
  type TiersFile,
} from '../../provisioning/tiers-file'
import { runs } from '../runs'
import { TIERS } from './command-line'

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,9}$/)
const policy = fc.record(
  {
    name,
    limit: fc.integer({ min: 1, max: 1_000_000 }),
    window: fc.constantFrom('1s', '1m', '12h'),
    algorithm: fc.constantFrom('sliding-window', 'fixed-window'),
    by: fc.constantFrom('ip', ['client', 'route']),
  },
  { requiredKeys: ['name', 'limit', 'window'] },
)
const policies = fc.uniqueArray(policy, { maxLength: 4, selector: (one) => one.name })
const tier = fc.record({ by: fc.constantFrom('ip', 'client'), policies }, { requiredKeys: ['policies'] })
/** Each word has APIs of its own. */
const word = fc.constantFrom('a1', 'b2', 'c3')
const ofSome = fc
  .dictionary(
    fc.tuple(name, word).map(([base, one]) => `${base} @${one}`),
    tier,
    { maxKeys: 3, noNullPrototype: true },
  )
  .map((some) => Object.fromEntries(Object.entries(some).map(([key, one]) => [key, { apis: [key.slice(-2)], ...one }])))
const tiers = fc
  .tuple(fc.dictionary(name, tier, { maxKeys: 5, noNullPrototype: true }), ofSome)
  .map(([some, others]) => ({ ...some, ...others, anonymous: { policies: [] } }))
const routes = fc.dictionary(
  name.map((path) => `GET /${path}`),
  fc.record({ cost: fc.nat(9) }),
  { maxKeys: 4, noNullPrototype: true },
)
const settings = fc.record(
  {
    defaultTier: fc.constant('anonymous'),
    identity: fc.uniqueArray(fc.constantFrom('api-key', 'api-gateway-key'), { maxLength: 3 }),
  },
  { requiredKeys: [] },
)
/** What holds for everybody counts by nothing else. */
const global = policies.map((some) => ({ policies: some.map(({ by: _, ...one }) => one) }))
/** Routes without policies, so that tiers and routes never contradict each other. */
const scopedSettings = fc.record({ apis: fc.constant(['*/dev']), mode: fc.constantFrom('observe', 'off') })
const file: fc.Arbitrary<TiersFile> = fc.record(
  { tiers, routes, settings, 'settings @dev': scopedSettings, global },
  { requiredKeys: ['tiers'] },
)

const shuffledFields = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffledFields)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([field, inner]) => [field, shuffledFields(inner)]),
  )
}
const tableOf = (items: readonly PolicySetItem[]) => new Map(items.map((item) => [item.sk, item]))

describe('a file and its items', () => {
  it('convert into each other without loss, through YAML as well', () => {
    fc.assert(
      fc.property(file, (one) => {
        const items = itemsOf(one)
        expect(diff(items, itemsOf(fileOf(items)))).toEqual([])
        expect(diff(items, itemsOf(parse(toYaml(fileOf(items)))))).toEqual([])
      }),
    )
  })

  it('do not include block entries or unknown items', () => {
    const items = [...TIERS, { pk: 'policy-set', sk: 'block#ip#1.2.3.4' }, { pk: 'policy-set', sk: 'else' }]
    expect(Object.keys(fileOf(items).tiers)).toEqual(['anonymous', 'free', 'pro'])
    expect(Object.keys(hashesOf(items))).toEqual(['tier#anonymous', 'tier#free', 'tier#pro'])
    expect(itemsOf(fileOf(items))).toHaveLength(3)
  })

  it('have a hash that ignores the order of fields and changes with any content', () => {
    fc.assert(
      fc.property(file, (one) => {
        for (const item of itemsOf(one)) {
          const hash = contentHash(item)
          expect(hash).toMatch(/^[0-9a-f]{16}$/)
          expect(contentHash(shuffledFields(item) as PolicySetItem)).toBe(hash)
          expect(contentHash({ ...item, pk: 'another', sk: 'key' })).toBe(hash)
          expect(contentHash({ ...item, cost: 10 })).not.toBe(hash)
        }
      }),
    )
    expect(contentHash({ a: [1, 2] })).not.toBe(contentHash({ a: [2, 1] }))
    expect(contentHash({ a: new Set(['x', 'y']) })).toBe(contentHash({ a: new Set(['y', 'x']) }))
    expect(contentHash({ a: new Set(['x']) })).not.toBe(contentHash({ a: ['x'] }))
    expect(contentHash({ a: new Uint8Array([1]) })).not.toBe(contentHash({ a: new Uint8Array([2]) }))
    expect(contentHash({ a: '1' })).not.toBe(contentHash({ a: 1 }))
    expect(contentHash({ a: undefined })).toBe(contentHash({}))
  })

  it('print one policy per line, its name first', () => {
    const yaml = toYaml(
      fileOf([
        {
          pk: 'policy-set',
          sk: 'tier#free',
          policies: [{ by: ['client', 'route'], window: '1m', limit: 60, name: 'a' }],
        },
      ]),
    )
    expect(yaml).toBe(
      'tiers:\n  free:\n    policies:\n      - { name: a, limit: 60, window: 1m, by: [ client, route ] }\n',
    )
  })
})

describe('applying', () => {
  it('twice changes nothing the second time, with and without --prune', () => {
    fc.assert(
      fc.property(file, file, fc.boolean(), (one, other, prune) => {
        const before = itemsOf(one)
        const plan = planApply(before, other, prune)
        const after = [...applied(tableOf(before), plan.changes).values()]
        expect(planApply(after, other, prune).changes).toEqual([])
        if (prune) expect(diff(after, itemsOf(other))).toEqual([])
        else expect(plan.changes.filter(({ kind }) => kind === 'remove')).toEqual([])
      }),
    )
  })

  it('an export changes nothing', () => {
    fc.assert(
      fc.property(file, (one) => {
        const items = itemsOf(one)
        expect(planApply(items, { ...fileOf(items), exported: hashesOf(items) }, true)).toMatchObject({
          changes: [],
          conflicts: [],
          kept: [],
        })
      }),
    )
  })

  it('reports a conflict exactly for items that somebody edited', () => {
    fc.assert(
      fc.property(file, file, file, fc.boolean(), (exported, edited, wanted, prune) => {
        const was = tableOf(itemsOf(exported))
        const { changes, conflicts } = planApply(
          itemsOf(edited),
          { ...wanted, exported: hashesOf([...was.values()]) },
          prune,
        )
        const hash = (item: PolicySetItem | undefined) => item && contentHash(item)
        const now = tableOf(itemsOf(edited))
        expect(conflicts).toEqual(changes.map(({ sk }) => sk).filter((sk) => hash(now.get(sk)) !== hash(was.get(sk))))
        expect(planApply(itemsOf(edited), wanted, prune).conflicts).toEqual([]) // nothing is known of an export
      }),
    )
  })

  it('updates "exported" so that the file can be applied again, even after a partial run', () => {
    fc.assert(
      fc.property(file, file, file, fc.nat(20), (first, second, third, count) => {
        const items = itemsOf(first)
        const wanted = { ...second, exported: hashesOf(items) }
        const { changes } = planApply(items, wanted, true)
        const done = changes.slice(0, count)
        const table = [...applied(tableOf(items), done).values()]
        expect(planApply(table, { ...third, exported: exportedAfter(wanted, items, done) }, true).conflicts).toEqual([])
      }),
    )
  })

  it('more than the authorizer reads is a mistake of the table, as the doctor and the block list see it', () => {
    const tiers = Array.from({ length: 4900 }, (_, i) => [`t${i}`, { policies: [] }])
    const items = itemsOf({ tiers: { anonymous: { policies: [] }, ...Object.fromEntries(tiers) } })
    expect(readPolicySet(items).issues.map(String)).toEqual([
      'tiers, routes, settings and the block list must be at most 4900 items, got 4901',
    ])
    expect(readPolicySet(items.slice(1)).issues.map(({ code }) => code)).not.toContain('too_many')
    expect(() => assertRoom(4901)).toThrow('at most 4900 items, got 4901')
  })

  it('in batches keeps the table valid after each, and leaves no change out', () => {
    fc.assert(
      fc.property(file, file, fc.integer({ min: 1, max: 5 }), (one, other, most) => {
        const items = itemsOf(one)
        const changes = diff(items, itemsOf(other))
        const { batches, stuck } = safeOrder(items, changes, (batch) => batch.length <= most)
        expect(stuck).toEqual([])
        expect(batches.flat().sort((a, b) => (a.sk < b.sk ? -1 : 1))).toEqual(changes)
        for (let count = 0; count <= batches.length; count++) {
          expect(batches[count]?.length ?? 1).toBeLessThanOrEqual(most)
          const after = applied(tableOf(items), batches.slice(0, count).flat())
          expect(readPolicySet([...after.values()]).issues).toEqual([])
        }
      }),
      { numRuns: runs(4, 50) },
    )
  })

  it('one by one keeps the table valid after every write', () => {
    fc.assert(
      fc.property(file, file, (one, other) => {
        const items = itemsOf(one)
        const changes = diff(items, itemsOf(other))
        const { batches, stuck } = safeOrder(items, changes)
        const steps = batches.flat()
        expect(stuck).toEqual([])
        expect([...steps].sort((a, b) => (a.sk < b.sk ? -1 : 1))).toEqual(changes)
        for (let count = 0; count <= steps.length; count++) {
          expect(readPolicySet([...applied(tableOf(items), steps.slice(0, count)).values()]).issues).toEqual([])
        }
      }),
      { numRuns: runs(4, 50) },
    )
  })

  const anonymous = { policies: [] }
  const limit = (name: string) => ({ policies: [{ name, limit: 1, window: '1s', by: 'client' }] })

  it('deletes a route before it adds another spelling of it', () => {
    const items = itemsOf({ tiers: { anonymous }, routes: { 'GET /a/{id}': { cost: 1 } } })
    const changes = diff(items, itemsOf({ tiers: { anonymous }, routes: { 'GET /a/{x}': { cost: 1 } } }))
    expect(
      safeOrder(items, changes)
        .batches.flat()
        .map(({ kind }) => kind),
    ).toEqual(['remove', 'add'])
  })

  it('reports changes that no order can apply one by one', () => {
    const items = itemsOf({ tiers: { anonymous, free: limit('a') }, routes: { 'GET /x': limit('b') } })
    const changes = diff(items, itemsOf({ tiers: { anonymous, free: limit('b') }, routes: { 'GET /x': limit('a') } }))
    expect(safeOrder(items, changes)).toEqual({ batches: [], stuck: expect.arrayContaining(changes) })
  })

  it('is not blocked by errors that were already in the table', () => {
    const items = [...itemsOf({ tiers: { anonymous } }), { pk: 'policy-set', sk: 'tier#odd', policies: 7 }]
    const plan = planApply(items, { tiers: { anonymous, free: limit('a') } }, false)
    expect([plan.issues, plan.kept]).toEqual([[], ['tier#odd']])
    expect(safeOrder(items, plan.changes).stuck).toEqual([])
  })
})

describe('a difference in lines', () => {
  const line = fc.constantFrom('a', 'b', 'c')
  it('contains both sides, and is empty for equal items', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.array(line, { maxLength: 8 }), (before, after) => {
        const lines = lineDiff(before, after)
        const without = (sign: string) => lines.filter((one) => one.sign !== sign).map(({ text }) => text)
        expect([without('+'), without('-')]).toEqual([before, after])
        expect(lineDiff(before, before).every(({ sign }) => sign === ' ')).toBe(true)
      }),
    )
  })
})
