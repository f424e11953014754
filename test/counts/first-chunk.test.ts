import { resolve } from 'node:path'
import { bundleBytes, PROGRAMS } from '../../tools/counts/first-chunk'

const ROOT = resolve(__dirname, '..', '..')

describe.each(Object.entries(PROGRAMS))('a program that has %s', (_, { program, most }) => {
  it('loads no more at first than tools/counts/first-chunk.ts allows, and the rest when it is needed', () => {
    const { first, all } = bundleBytes(ROOT, program)
    expect(first).toBeLessThanOrEqual(most)
    expect(first).toBeGreaterThan(most - 5000) // else lower the limit
    expect(all).toBeGreaterThan(first + 20_000)
  })
})
