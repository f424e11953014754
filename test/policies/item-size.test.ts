import { tooLarge } from '../../limiter/policies/item-size'
import type { Policy } from '../../limiter/policies/policy'
import { parsed } from './issues'

/** A policy of which nothing matters but what it may store. */
const storing = (name: string, bytes: number): Policy => {
  const policy = parsed({ name })
  return { ...policy, counter: { ...policy.counter, storedBytes: bytes } }
}
const placed = (...policies: Policy[]) => policies.map((policy) => ({ policy, scope: '' }))
const KB = 1024
/** Of the 400 KB of an item, 4 are left for its key and its marks. */
const MAX_STORED_BYTES = 396 * KB

describe('what the policies of one subject may store', () => {
  it('is as much as an item holds, and not a byte more', () => {
    expect(tooLarge(placed(storing('a', MAX_STORED_BYTES - 1), storing('b', 1)))).toBeUndefined()
    expect(tooLarge(placed(storing('a', MAX_STORED_BYTES), storing('b', 1)))).toContain('the largest of its policies')
  })

  it('counts a policy that tiers share once, as large as the largest of them', () => {
    const [less, more] = [storing('a', 1), storing('a', MAX_STORED_BYTES)]
    expect(tooLarge(placed(less, more))).toBeUndefined()
    expect(tooLarge(placed(more, less))).toBeUndefined()
    for (const both of [placed(less, more), placed(more, less)])
      expect(tooLarge([...both, ...placed(storing('b', 1))])).toBeDefined()
  })

  it('is told with its largest policies first', () => {
    const sizes = [100, 300, 200, 50, 150, 20, 10]
    const sentence = tooLarge(placed(...sizes.map((size, i) => storing(`p${i}`, size * KB))))!
    const named = [...sentence.matchAll(/"p\d" (\d+) KB/g)].map(([, size]) => Number(size))
    expect(named).toEqual(sizes.toSorted((a, b) => b - a).slice(0, named.length))
    expect(named.length).toBeLessThan(sizes.length)
    expect(sentence).toMatch(new RegExp(` and ${sizes.length - named.length} more$`))
  })
})
