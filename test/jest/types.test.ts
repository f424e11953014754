import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const TESTS = join(__dirname, '..')

it('no suite expects an error of the compiler, since its types are stripped: such lines are in test/types', () => {
  const suites = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
  const expecting = suites.filter((file) => /^\s*\/\/ @ts-expect-error/m.test(readFileSync(join(TESTS, file), 'utf8')))
  expect(suites.length).toBeGreaterThan(300)
  expect(expecting.filter((file) => !file.startsWith('slow'))).toEqual([]) // which give them to a compiler
})
