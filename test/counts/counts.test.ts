import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { functionsAbove, importedFrom, linesOf, loopsUnderDeadline, testsIn, wordsIn } from '../../tools/counts/code'
import { countFiles, RECORDED } from '../../tools/counts/count'
import { LIMITS } from '../../tools/counts/limits'
import { holdsLimits } from './holds-limits'

const NOW = countFiles(resolve(__dirname, '..', '..'))

holdsLimits(NOW)

it('limits are no lower than their goals, and goals no higher than at b620fa4', () => {
  for (const [name, { most, goal }] of Object.entries(LIMITS)) {
    expect([name, goal]).toEqual([name, Math.min(goal, most, RECORDED[name]!)])
  }
})

describe('a count', () => {
  it('of lines and words has comments, and no signs by themselves', () => {
    expect([linesOf(''), linesOf('a\n'), linesOf('a\n\nb')]).toEqual([0, 1, 3])
    expect(wordsIn('# A `word` | --- | of 3\n')).toBe(4)
  })

  it('of functions looks at methods, constructors and arrows, and at no types', () => {
    const text = `
      type Six = (a, b, c, d, e, f) => void
      abstract class A { constructor(a, b, c, d, e, f) {} five(a, b, c, d, e) {} abstract six(a, b, c, d, e, f): void }
      const six = (a, b, c, d, e, f) => a
      function overloaded(a, b, c, d, e, f): void`
    expect(functionsAbove(5, 'a.ts', text)).toBe(2)
  })

  it('of loops looks for what they await themselves', () => {
    const text = `async () => {
      for (;;) { const { kind } = await items.apply(key, parts, deadline) }
      while (deadline.leftMs > 0) if (a) await (b ? calls.delete(key, deadline) : undefined)
      for (;;) await deadline.bound(1, call)
      for (;;) await items.read(key)
      for (;;) { later(async () => { await items.read(key, deadline) }) }
      while (deadline.leftMs > 0) turns++
      await items.read(key, deadline)
    }`
    expect(loopsUnderDeadline('a.ts', text)).toBe(3)
  })

  it('of tests has a table once', () => {
    const text = `
      it('a', () => { expect(/a/.test('a')).toBe(true) })
      test.each([1, 2])('b %s', () => {})
      it.each\`a\`('c', () => {})
      it.skip('d', () => {})
      test.each<readonly [string]>([])('e', () => {})
      // it is no test
      describe.each([1])('f', () => {})`
    expect(testsIn(text)).toBe(5)
  })

  it('of imports has types too, each as often as a file imports it', () => {
    const root = mkdtempSync(join(tmpdir(), 'sluice-count-'))
    mkdirSync(join(root, 'cli', 'a'), { recursive: true })
    writeFileSync(
      join(root, 'cli', 'a', 'b.ts'),
      `import type { A } from '../../lambda/a'\nimport { b } from '../c'\nimport { d } from '../../limiter'\nimport 'limiter'`,
    )
    writeFileSync(join(root, 'cli', 'c.ts'), `export { a } from '../lambda/a'\nexport * from '../lambda-like/a'`)
    expect(importedFrom(root, 'cli', ['lambda', 'limiter'])).toEqual(['lambda/a', 'limiter', 'lambda/a'])
    rmSync(root, { recursive: true })
  })
})
