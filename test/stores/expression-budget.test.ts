import fc from 'fast-check'
import {
  type Assignment,
  absentOrAtMost,
  add,
  append,
  type Clause,
  exactly,
  purge,
  remove,
  replace,
  set,
  setIfAbsent,
  sizeAtMost,
  when,
} from '../../limiter/algorithms/conditional-write'
import { fitted, inWrites } from '../../limiter/stores/expression-budget'
import { toUpdate } from '../../limiter/stores/expressions'
import type { ItemWrite, PolicyWrite } from '../../limiter/stores/store'
import { runs } from '../runs'
import { DYNAMODB, operatorsIn } from './expression-size'

const PREFIXES = Array.from({ length: 30 }, (_, i) => `a${i % 10}${i.toString(36)}x`)

const anyName = fc.integer({ min: 0, max: 2 ** 45 }).map((index) => index.toString(36).padStart(2, '0'))
const anyNumber = fc.integer({ min: 0, max: 400 })
/** A part whose required clauses are as small as an algorithm's, with optional ones. */
const anyPart = (prefix: string): fc.Arbitrary<PolicyWrite> =>
  fc
    .record({
      guard: fc.oneof(
        fc
          .tuple(absentW, fc.array(fc.tuple(anyName, anyNumber), { minLength: 1, maxLength: 9 }))
          .map(([w, steps]): Clause[] => [
            w,
            { anyOf: steps.map(([name, count]) => [absentOrAtMost(name, count), absentOrAtMost(`${name}x`, count)]) },
          ]),
        fc.constant<Clause[]>([sizeAtMost('l', 7), absentOrAtMost('t', 9)]),
      ),
      needed: fc.subarray<Assignment>([set('w', 1), add('n', 3), setIfAbsent('o', 3), append('l', [1]), remove('k')]),
      purged: fc.uniqueArray(anyName, { maxLength: 100 }),
    })
    .map(({ guard, needed, purged }) => ({ prefix, write: when(guard, ...needed, ...purged.map(purge)) }))
const absentW = anyNumber.map((value) => absentOrAtMost('w', value))

const anyParts = fc.integer({ min: 1, max: 30 }).chain((count) => fc.tuple(...PREFIXES.slice(0, count).map(anyPart)))
const anyWrite: fc.Arbitrary<ItemWrite> = fc.record({
  parts: anyParts,
  id: fc.record({ mark: fc.constant('r3'), value: fc.nat({ max: 2 ** 31 - 1 }) }),
  expiresAtSeconds: fc.option(fc.integer({ min: 1e9, max: 2e9 }), { nil: undefined }),
  at: fc.constant(0),
})

const purgedIn = ({ write }: PolicyWrite) => write.assignments.flatMap((one) => ('purge' in one ? [one.field] : []))
const neededIn = ({ write }: PolicyWrite) => write.assignments.filter((one) => !('purge' in one))

describe('a write that is fitted to DynamoDB’s limits', () => {
  it('exceeds none of them, keeps all that is required, and the first of what is optional', () =>
    fc.assert(
      fc.property(anyWrite, (write) => {
        const small = fitted(write)
        const { ConditionExpression, UpdateExpression } = toUpdate(small)
        expect(ConditionExpression.length).toBeLessThanOrEqual(DYNAMODB.bytes)
        expect(UpdateExpression.length).toBeLessThanOrEqual(DYNAMODB.bytes)
        expect(operatorsIn(ConditionExpression, 'condition')).toBeLessThanOrEqual(DYNAMODB.operators)
        expect(operatorsIn(UpdateExpression, 'update')).toBeLessThanOrEqual(DYNAMODB.operators)
        for (const [i, part] of small.parts.entries()) {
          const before = write.parts[i]!
          expect(neededIn(part)).toEqual(neededIn(before))
          expect(purgedIn(before).slice(0, purgedIn(part).length)).toEqual(purgedIn(part))
          for (const [j, clause] of part.write.guard.entries()) {
            const was = before.write.guard[j]!
            if ('anyOf' in clause && 'anyOf' in was)
              expect(was.anyOf.slice(0, clause.anyOf.length)).toEqual(clause.anyOf)
            else expect(clause).toEqual(was)
          }
        }
      }),
      { numRuns: runs(60, 300) },
    ))

  it('is the same write if all of it fits', () => {
    const write = {
      parts: [{ prefix: 'a1bc', write: when([absentOrAtMost('w', 7)], set('w', 7), purge('zy')) }],
      id: { mark: 'r3', value: 4 },
      at: 0,
    }
    expect(fitted(write)).toBe(write)
    expect(toUpdate(write).UpdateExpression).toBe('SET r3=:0,a1bcw=:1 REMOVE a1bczy')
  })

  it('uses the room that there is', () => {
    const names = Array.from({ length: 1000 }, (_, i) => `zz${i.toString(36).padStart(4, '0')}`)
    const write = {
      parts: [{ prefix: 'a1bc', write: when([], set('w', 7), ...names.map(purge)) }],
      id: { mark: 'r3', value: 4 },
      at: 0,
    }
    const { UpdateExpression } = toUpdate(fitted(write))
    expect(UpdateExpression.length).toBeGreaterThan(DYNAMODB.bytes - 256)
  })

  it('purges as many fields of each policy, and starts with another policy each time', () => {
    const names = Array.from({ length: 96 }, (_, i) => `zz${i.toString(36).padStart(6, '0')}`)
    const parts = PREFIXES.map((prefix) => ({
      prefix,
      write: when([], set('w', 7), add('zzzzzzzz', 1), ...names.map(purge)),
    }))
    const counts = [0, 1, 2].map((value) =>
      fitted({ parts, id: { mark: 'r3', value }, at: 0 }).parts.map((part) => purgedIn(part).length),
    )
    for (const count of counts) expect(Math.max(...count) - Math.min(...count)).toBeLessThanOrEqual(1)
    expect(counts[0]).not.toEqual(counts[1])
    expect(Math.min(...counts[0]!)).toBeGreaterThan(2)
  })
})

describe('parts that may be written separately', () => {
  it('become as few writes as fit the limits, in order', () => {
    const large = PREFIXES.map((prefix) => ({
      prefix,
      write: when(
        Array.from({ length: 120 }, (_, i) => exactly(`zz${i.toString(36).padStart(5, '0')}`, i)),
        replace('l', []),
        ...Array.from({ length: 120 }, (_, i) => remove(`zz${i.toString(36).padStart(5, '0')}`)),
      ),
    }))
    const small = PREFIXES.map((prefix) => ({ prefix, write: when([exactly('w', 3)], add('w', -1)) }))
    expect(inWrites([])).toEqual([])
    expect(inWrites(small)).toEqual([small])
    const writes = inWrites([...small, ...large])
    expect(writes.flat()).toEqual([...small, ...large])
    expect(writes.length).toBe(31)
    for (const parts of writes) toUpdate({ parts, id: { mark: 'r3', value: 1 }, expiresAtSeconds: 9, at: 0 })
  })
})

describe('the DynamoDB store', () => {
  it('reports a write that is too large, without sending it', () => {
    const guard = Array.from({ length: 151 }, () => exactly('w', 3))
    const write = { parts: [{ prefix: 'a1bc', write: when(guard, set('w', 7)) }], id: { mark: 'r3', value: 4 }, at: 0 }
    expect(() => toUpdate(write)).toThrow(
      expect.objectContaining({ reason: 'item', message: expect.stringMatching(/303 operators/) }),
    )
    const names = Array.from({ length: 600 }, (_, i) => remove(`zz${i}`))
    expect(() => toUpdate({ ...write, parts: [{ prefix: 'a1bc', write: when([], ...names) }] })).toThrow(
      /bytes of update is too large/,
    )
    toUpdate({ ...write, parts: [{ prefix: 'a1bc', write: when(guard.slice(0, 149), set('w', 7)) }] })
  })
})
