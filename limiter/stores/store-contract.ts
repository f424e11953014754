/**
 * The promises that every store keeps, for the tests of a store of one's own.
 *
 * @module sluice/store-contract
 */

import assert from 'node:assert/strict'
import {
  absentOrAtMost,
  add,
  append,
  atLeast,
  atMost,
  between,
  type Clause,
  type ConditionalWrite,
  exactly,
  type Fields,
  remove,
  replace,
  set,
  setIfAbsent,
  sizeAtMost,
  when,
} from '../algorithms/conditional-write'
import { afterWrite } from './memory-store'
import { type Item, type ItemWrite, marksOf, NO_ITEM, type SeenMarks, type StateStore } from './store'

/**
 * One promise that every store keeps. It uses keys of its own, so that all can run on one store, in any order and at
 * once.
 */
export interface ContractCase {
  readonly name: string
  /** Rejects where the store breaks the promise. */
  run(store: StateStore): Promise<void>
}

/**
 * What any `StateStore` has to do, for any test runner:
 *
 * ```ts
 * for (const { name, run } of storeContract) it(name, () => run(store))
 * ```
 */
export const storeContract: readonly ContractCase[] = [
  {
    name: 'a subject that was never written has no item',
    run: async (store) => assert.deepEqual(await store.read(newKey()), NO_ITEM),
  },
  {
    name: 'the first write applies, and finds no item',
    async run(store) {
      const key = newKey()
      assert.deepEqual(await store.write(key, one(when([], set('a', 5)))), { kind: 'applied', item: NO_ITEM })
      assert.deepEqual(await fieldsIn(store, key), { a: 5 })
    },
  },
  {
    name: 'an applied write returns the item as it was before',
    async run(store) {
      const key = await keyWith(store, { a: 5, l: [1, 2] })
      const { kind, item } = await store.write(key, one(when([], set('a', 6))))
      assert.equal(kind, 'applied')
      assert.deepEqual(item.policies[CODE], { a: 5, l: [1, 2] })
    },
  },
  {
    name: 'a write whose guard does not hold changes nothing, and returns the stored item',
    async run(store) {
      const key = await keyWith(store, { a: 5 })
      const { kind, item } = await store.write(
        key,
        one(when([atMost('a', 4)], set('a', 9), set('b', 9)), { expiresAtSeconds: FAR }),
      )
      assert.equal(kind, 'refused')
      assert.deepEqual(item.policies[CODE], { a: 5 })
      assert.deepEqual(await store.read(key), item)
    },
  },
  {
    name: 'a refused write to a subject without an item returns no item',
    async run(store) {
      const key = newKey()
      assert.deepEqual(await store.write(key, one(when([atLeast('a', 0)], set('a', 9)))), {
        kind: 'refused',
        item: NO_ITEM,
      })
      assert.deepEqual(await store.read(key), NO_ITEM)
    },
  },
  ...guardCases(),
  ...assignmentCases(),
  {
    name: 'several policies change together or not at all',
    async run(store) {
      const key = newKey()
      const both = (a: ConditionalWrite, b: ConditionalWrite): ItemWrite => ({
        ...one(a),
        parts: [
          { prefix: CODE, write: a },
          { prefix: OTHER, write: b },
        ],
      })
      assert.equal((await store.write(key, both(when([], add('n', 1)), when([], add('n', 2))))).kind, 'applied')
      assert.equal(
        (await store.write(key, both(when([], add('n', 1)), when([atMost('n', 1)], add('n', 2))))).kind,
        'refused',
      )
      assert.equal(
        (await store.write(key, both(when([atMost('n', 0)], add('n', 1)), when([], add('n', 2))))).kind,
        'refused',
      )
      assert.deepEqual((await store.read(key)).policies, { [CODE]: { n: 1 }, [OTHER]: { n: 2 } })
    },
  },
  {
    name: 'thirty policies fit into one write',
    async run(store) {
      const key = newKey()
      const codes = Array.from({ length: 30 }, (_, i) => `z${i % 10}${String.fromCharCode(97 + Math.floor(i / 10))}x`)
      const guard = [absentOrAtMost('w', 9e8), absentOrAtMost('2fa1c0', 7), absentOrAtMost('2fa1c1', 7)]
      const write: ItemWrite = {
        ...one(when([])),
        parts: codes.map((prefix) => ({
          prefix,
          write: when(guard, set('w', 9e8), add('2fa1c1', 1), remove('2fa1bz')),
        })),
      }
      for (const kind of ['applied', 'applied'])
        assert.equal((await store.write(key, { ...write, id: newId() })).kind, kind)
      assert.equal(Object.keys((await store.read(key)).policies).length, 30)
    },
  },
  {
    name: 'a write sent twice counts once',
    async run(store) {
      const key = newKey()
      const write = one(when([], add('n', 1)))
      assert.equal((await store.write(key, write)).kind, 'applied')
      const again = await store.write(key, write)
      assert.equal(again.kind, 'already-applied')
      assert.deepEqual(again.item.policies[CODE], { n: 1 })
      assert.equal((await store.write(key, { ...write, id: newId() })).kind, 'applied')
      assert.deepEqual(await fieldsIn(store, key), { n: 2 })
    },
  },
  {
    name: 'a write sent twice counts once, also if another mark was written in between',
    async run(store) {
      const key = newKey()
      const write = one(when([], add('n', 1)), { id: { mark: 'r1', value: 77 } })
      await store.write(key, write)
      await store.write(key, one(when([], add('n', 1)), { id: { mark: 'r2', value: 77 } }))
      assert.equal((await store.write(key, write)).kind, 'already-applied')
      assert.deepEqual(await fieldsIn(store, key), { n: 2 })
    },
  },
  {
    name: 'a write is refused after a newer write of its process, and not after one of another process with the same mark',
    async run(store) {
      const key = newKey()
      const counted = (value: number, rangeEnd: number) =>
        store.write(key, one(when([], add('n', 1)), { id: { mark: 'r3', value, rangeEnd } }))
      assert.equal((await counted(10, 20)).kind, 'applied')
      assert.equal((await counted(9, 20)).kind, 'refused')
      assert.equal((await counted(10, 20)).kind, 'already-applied')
      assert.equal((await counted(20, 20)).kind, 'applied')
      assert.equal((await counted(11, 20)).kind, 'refused')
      assert.equal((await counted(30, 40)).kind, 'applied')
      assert.equal((await counted(20, 20)).kind, 'applied')
      assert.deepEqual(await fieldsIn(store, key), { n: 4 })
    },
  },
  {
    name: 'a write that requires its marks as seen is applied once, whichever process writes in between',
    async run(store) {
      const key = await keyWith(store, { n: 9 })
      const back = (seen: number | undefined, value: number, more: SeenMarks = {}): ItemWrite =>
        one(when([atLeast('n', 1)], add('n', -1)), { id: { mark: 'r8', value }, whileMarks: { r8: seen, ...more } })
      assert.equal((await store.write(key, back(5, 77))).kind, 'refused')
      assert.equal((await store.write(key, back(undefined, 77, { r6: 1 }))).kind, 'refused')
      assert.equal((await store.write(key, back(undefined, 77, { r6: undefined }))).kind, 'applied')
      assert.equal((await store.write(key, back(undefined, 77))).kind, 'already-applied')
      assert.equal((await store.write(key, back(77, 78))).kind, 'applied')
      for (const again of [back(undefined, 77), back(77, 79)])
        assert.equal((await store.write(key, again)).kind, 'refused')
      assert.deepEqual(await fieldsIn(store, key), { n: 7 })
    },
  },
  {
    name: 'the time to live is moved forward and never back',
    async run(store) {
      const key = newKey()
      const until = async (expiresAtSeconds?: number) =>
        (await store.write(key, one(when([], add('n', 1)), { expiresAtSeconds }))).kind
      assert.equal(await until(FAR), 'applied')
      assert.equal(await until(undefined), 'applied')
      assert.equal(await until(FAR), 'applied')
      assert.equal(await until(FAR - 1), 'refused')
      assert.equal(await until(FAR + 3600), 'applied')
      assert.equal((await store.read(key)).expiresAtSeconds, FAR + 3600)
    },
  },
  {
    name: 'a deleted subject starts without state',
    async run(store) {
      const key = await keyWith(store, { a: 5 })
      const item = await store.read(key)
      assert.deepEqual(await store.delete(key, marksOf(item)), { kind: 'deleted', item })
      assert.deepEqual(await store.read(key), NO_ITEM)
      assert.deepEqual(await store.write(key, one(when([absentOrAtMost('a', 0)], add('a', 1)))), {
        kind: 'applied',
        item: NO_ITEM,
      })
      assert.deepEqual(await store.delete(newKey(), marksOf(NO_ITEM)), { kind: 'deleted', item: NO_ITEM })
    },
  },
  {
    name: 'a subject whose marks are not as seen is not deleted',
    async run(store) {
      const key = await keyWith(store, { a: 5 })
      const seen = await store.read(key)
      await store.write(key, one(when([], add('a', 1)), { id: { mark: 'r5', value: 1 } }))
      const item = await store.read(key)
      assert.deepEqual(await store.delete(key, marksOf(seen)), { kind: 'refused', item })
      assert.deepEqual(await store.read(key), item)
      assert.equal((await store.delete(key, marksOf(item))).kind, 'deleted')
      assert.deepEqual(await store.delete(key, marksOf(item)), { kind: 'refused', item: NO_ITEM })
    },
  },
  {
    name: 'numbers are exact to the last unit',
    async run(store) {
      const most = Number.MAX_SAFE_INTEGER
      const key = await keyWith(store, { a: most - 1, b: -most, t: 1_763_683_200_000_001 })
      await store.write(key, one(when([exactly('a', most - 1), exactly('b', -most)], add('a', 1), add('t', 1))))
      assert.deepEqual(await fieldsIn(store, key), { a: most, b: -most, t: 1_763_683_200_000_002 })
    },
  },
  {
    name: 'simultaneous writes are applied one after another',
    async run(store) {
      const key = newKey()
      const write = when([absentOrAtMost('n', 6)], add('n', 1))
      const outcomes = await Promise.all(
        Array.from({ length: 25 }, (_, i) =>
          store.write(key, one(write, { id: { mark: `r${i % 8}`, value: 1000 + i } })),
        ),
      )
      assert.equal(outcomes.filter(({ kind }) => kind === 'applied').length, 7)
      assert.deepEqual(await fieldsIn(store, key), { n: 7 })
      const found = outcomes.filter(({ kind }) => kind === 'applied').map(({ item }) => item.policies[CODE]?.n ?? 0)
      assert.deepEqual([...found].sort(), [0, 1, 2, 3, 4, 5, 6])
    },
  },
  {
    name: 'a write changes no other subject',
    async run(store) {
      const [mine, yours] = [await keyWith(store, { a: 1 }), await keyWith(store, { a: 2 })]
      await store.write(mine, one(when([], add('a', 10))))
      assert.deepEqual([await fieldsIn(store, mine), await fieldsIn(store, yours)], [{ a: 11 }, { a: 2 }])
    },
  },
  {
    name: 'two hundred random writes leave the state that the algorithms compute',
    async run(store) {
      const key = newKey()
      const random = generator(20)
      let item: Item = NO_ITEM
      for (let i = 0; i < 200; i++) {
        const write: ItemWrite = { ...one(randomWrite(random)), id: newId() }
        const outcome = await store.write(key, write)
        assert.deepEqual(outcome.item, item)
        if (outcome.kind === 'applied') item = afterWrite(item, write)
      }
      assert.deepEqual(await store.read(key), item)
      assert.ok(Object.keys(item.policies[CODE]!).length > 0)
    },
  },
]

const CODE = 'a1Zz'
const OTHER = 'b2Yy'
const FAR = 4_102_444_800

let keys = 0
const run = Math.random().toString(36).slice(2)
const newKey = (): string => `contract#${run}${keys++}`
const newId = () => ({ mark: 'r0', value: keys++ })

const one = (write: ConditionalWrite, more: Partial<ItemWrite> = {}): ItemWrite => ({
  parts: [{ prefix: CODE, write }],
  id: newId(),
  at: 1_763_683_200_000,
  ...more,
})

const fieldsIn = async (store: StateStore, key: string): Promise<Fields | undefined> =>
  (await store.read(key)).policies[CODE]

async function keyWith(store: StateStore, fields: Fields): Promise<string> {
  const key = newKey()
  const assignments = Object.entries(fields).map(([name, value]) =>
    typeof value === 'number' ? set(name, value) : replace(name, value),
  )
  assert.equal((await store.write(key, one(when([], ...assignments)))).kind, 'applied')
  return key
}

/** Each kind of comparison, just inside and just outside its bounds, on a present and on an absent field. */
function guardCases(): ContractCase[] {
  const stored: Fields = { a: 5, l: [1, 2, 3] }
  const rows: [name: string, guard: Clause[], held: boolean][] = [
    ['at most its value', [atMost('a', 5)], true],
    ['at most less', [atMost('a', 4)], false],
    ['at most, absent', [atMost('x', 5)], false],
    ['at least its value', [atLeast('a', 5)], true],
    ['at least more', [atLeast('a', 6)], false],
    ['at least, absent', [atLeast('x', -5)], false],
    ['between its value and its value', [between('a', 5, 5)], true],
    ['between bounds above it', [between('a', 6, 9)], false],
    ['between bounds below it', [between('a', 0, 4)], false],
    ['between bounds that exclude each other', [between('a', 6, 4)], false],
    ['between, absent', [between('x', -9, 9)], false],
    ['exactly its value', [exactly('a', 5)], true],
    ['exactly another', [exactly('a', 6)], false],
    ['exactly, absent', [exactly('x', 0)], false],
    ['absent or at most its value', [absentOrAtMost('a', 5)], true],
    ['absent or at most less', [absentOrAtMost('a', 4)], false],
    ['absent or at most, absent', [absentOrAtMost('x', -1)], true],
    ['absent or at least its value', [{ field: 'a', atLeast: 5, orAbsent: true }], true],
    ['absent or at least more', [{ field: 'a', atLeast: 6, orAbsent: true }], false],
    ['absent or at least, absent', [{ field: 'x', atLeast: 6, orAbsent: true }], true],
    ['absent or within bounds', [{ field: 'a', atLeast: 5, atMost: 5, orAbsent: true }], true],
    ['absent or above bounds', [{ field: 'a', atLeast: 3, atMost: 4, orAbsent: true }], false],
    ['absent or within bounds, absent', [{ field: 'x', atLeast: 3, atMost: 4, orAbsent: true }], true],
    ['a list of just that size', [sizeAtMost('l', 3)], true],
    ['a list that is longer', [sizeAtMost('l', 2)], false],
    ['a list that is absent', [sizeAtMost('x', 0)], true],
    ['all of several', [atMost('a', 5), atLeast('a', 5), sizeAtMost('l', 3)], true],
    ['all but the last of several', [atMost('a', 5), atLeast('a', 5), sizeAtMost('l', 2)], false],
    ['the first alternative', [{ anyOf: [[atMost('a', 5)], [atMost('a', 1)]] }], true],
    ['the last alternative', [{ anyOf: [[atMost('a', 1)], [atLeast('a', 5), absentOrAtMost('x', 1)]] }], true],
    [
      'half of each alternative',
      [
        {
          anyOf: [
            [atMost('a', 5), atMost('a', 1)],
            [atLeast('a', 5), atLeast('a', 9)],
          ],
        },
      ],
      false,
    ],
    [
      'an alternative and what stands beside it',
      [atLeast('a', 5), { anyOf: [[atMost('a', 5)], [atMost('a', 9)]] }, sizeAtMost('l', 3)],
      true,
    ],
    [
      'an alternative but not what stands beside it',
      [{ anyOf: [[atMost('a', 5)], [atMost('a', 9)]] }, sizeAtMost('l', 2)],
      false,
    ],
  ]
  return rows.map(([name, guard, held]) => ({
    name: `a guard ${held ? 'holds' : 'does not hold'}: ${name}`,
    async run(store) {
      const key = await keyWith(store, stored)
      const { kind } = await store.write(key, one(when(guard, set('done', 1))))
      assert.equal(kind, held ? 'applied' : 'refused')
      assert.deepEqual(await fieldsIn(store, key), held ? { ...stored, done: 1 } : stored)
    },
  }))
}

/** Each kind of assignment, on a present and on an absent field. */
function assignmentCases(): ContractCase[] {
  const stored: Fields = { a: 5, l: [1, 2] }
  const rows: [name: string, write: ConditionalWrite, after: Fields][] = [
    ['sets', when([], set('a', 0), set('x', -7)), { a: 0, x: -7, l: [1, 2] }],
    ['sets what is absent only', when([], setIfAbsent('a', 9), setIfAbsent('x', 9)), { a: 5, x: 9, l: [1, 2] }],
    ['adds, from 0 where absent', when([], add('a', 3), add('x', 3)), { a: 8, x: 3, l: [1, 2] }],
    ['subtracts below zero', when([], add('a', -9), add('x', -1)), { a: -4, x: -1, l: [1, 2] }],
    ['removes, also what is not there', when([], remove('a'), remove('x'), remove('l')), {}],
    [
      'appends, from empty where absent',
      when([], append('l', [3, 3]), append('m', [9])),
      { a: 5, l: [1, 2, 3, 3], m: [9] },
    ],
    ['replaces lists', when([], replace('l', []), replace('m', [7, 8])), { a: 5, l: [], m: [7, 8] }],
    [
      'does all of it at once',
      when([], set('a', 1), add('n', 2), remove('l'), append('m', [4]), setIfAbsent('o', 6)),
      { a: 1, n: 2, m: [4], o: 6 },
    ],
  ]
  return rows.map(([name, write, after]) => ({
    name: `a write ${name}`,
    async run(store) {
      const key = await keyWith(store, stored)
      assert.equal((await store.write(key, one(when([exactly('a', 5)], ...write.assignments)))).kind, 'applied')
      const { policies } = await store.read(key)
      assert.deepEqual(policies[CODE] ?? {}, after)
    },
  }))
}

/** A small generator of pseudo-random numbers in [0, 1), so that a failure can be repeated. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function randomWrite(random: () => number): ConditionalWrite {
  const upTo = (most: number) => Math.floor(random() * (most + 1))
  const field = () => ['a', 'b', '2f', '9zz'][upTo(3)]!
  const comparison = () =>
    [
      absentOrAtMost(field(), upTo(30)),
      atMost(field(), upTo(30)),
      atLeast(field(), upTo(5)),
      sizeAtMost('l', upTo(12)),
    ][upTo(3)]!
  const guard: Clause[] = [...Array(upTo(2))].map(comparison)
  if (random() < 0.3) guard.push({ anyOf: [[comparison()], [comparison(), comparison()]] })
  const [first, second] = [field(), field()]
  const numbers = [
    () => add(first, upTo(4) - 1),
    () => set(first, upTo(9)),
    () => remove(first),
    () => setIfAbsent(first, upTo(9)),
  ]
  const list = [append('l', [upTo(99)]), replace('l', [upTo(9), upTo(9)])][upTo(1)]!
  const changes = [
    numbers[upTo(3)]!(),
    ...(second === first ? [] : [add(second, 1)]),
    ...(random() < 0.5 ? [list] : []),
  ]
  return when(guard, ...changes)
}
