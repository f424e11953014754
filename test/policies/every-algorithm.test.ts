import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { ALGORITHM_NAMES, type PolicyInput } from '../../limiter/policies/policy'
import { anyQuotaOf, NAMES } from '../algorithms/any-algorithm'
import { KINDS } from '../limiter/histories'
import { everyAlgorithm } from '../limiter/limiters'
import { COUNTINGS } from '../limiter/lost-answers'
import { SHAPES } from '../model/generate'

const TEST = join(__dirname, '..')
const first = <T>(arbitrary: fc.Arbitrary<T>): T => fc.sample(arbitrary, { numRuns: 1, seed: 1 })[0]!
const recordings = readdirSync(join(TEST, 'vectors')).filter((file) => file.startsWith('recorded-state'))
const named = ({ algorithm = 'sliding-window' }: Partial<PolicyInput>): string => algorithm

/** The lists that tests of all algorithms go through. An algorithm that is in none of them would be tested by none. */
const LISTS: readonly (readonly [list: string, algorithms: readonly string[]])[] = [
  ['test/algorithms/any-algorithm.ts', NAMES.map((name) => first(anyQuotaOf(name)).algorithm.name)],
  ['everyAlgorithm of test/limiter/limiters.ts', everyAlgorithm(10).map(named)],
  ['COUNTINGS of test/limiter/lost-answers.ts', Object.values(COUNTINGS).map(named)],
  ['KINDS of test/limiter/histories.ts', Object.values(KINDS).map((shape) => named(first(shape)))],
  ['SHAPES of test/model/generate.ts', Object.values(SHAPES).map((shape) => named(first(shape)))],
  [
    'test/vectors/recorded-state*.json',
    recordings.flatMap((file) =>
      JSON.parse(readFileSync(join(TEST, 'vectors', file), 'utf8')).cases.map(
        ({ policy }: { policy: PolicyInput }): string => named(policy),
      ),
    ),
  ],
]

describe.each(ALGORITHM_NAMES)('the algorithm %s', (algorithm) => {
  it('is held to the laws in a test file of its own', () => {
    const file = join(TEST, 'algorithms', `${algorithm}.test.ts`)
    expect(existsSync(file) && readFileSync(file, 'utf8').includes('obeysTheLaws')).toBe(true)
  })

  it.each(LISTS)('is in %s', (_, algorithms) => {
    expect(algorithms).toContain(algorithm)
  })
})
