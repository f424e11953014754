import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { filesIn } from '../../tools/counts/code'
import { decides, loadedBy, longestChain } from '../../tools/counts/imports'

const LIMITER = resolve(__dirname, '../../limiter')

/** How many files the page allows in a chain: in any one, and in one of files that decide. */
const [MAX_FILES = 0, MAX_DECIDING = 0] =
  /no chain of imports, types apart, is longer than (\d+) files, nor than (\d+) among the files that decide/
    .exec(readFileSync(resolve(__dirname, '../../docs/architecture.md'), 'utf8').replaceAll(/\s+/g, ' '))!
    .slice(1)
    .map(Number)

/** Every file of the limiter, by its path in there. */
const FILES = filesIn(LIMITER, /\.ts$/)
const DECIDING = FILES.filter(decides)
const LOADED = loadedBy(LIMITER, FILES)

it.each([
  ['the files of the limiter', FILES, MAX_FILES],
  ['its files that decide', DECIDING, MAX_DECIDING],
])('no chain of imports among %s is longer than docs/architecture.md says, or a circle', (_, files, max) => {
  const chain = longestChain(files, LOADED)
  expect([chain.join(' → '), chain.length <= max]).toEqual([chain.join(' → '), true])
})

it('this test finds the files, what they load, and circles', () => {
  expect(DECIDING.length).toBeGreaterThan(40)
  expect(FILES.length - DECIDING.length).toBeGreaterThan(30)
  expect(LOADED.get('rate-limiter.ts')).toContain('decider.ts')
  expect(LOADED.get('index.ts')).toContain('create-limiter.ts')
  const edges = (text: string) => new Map(text.split(' ').map((edge) => [edge[0]!, [...edge.slice(1)]]))
  expect(longestChain([...'abcd'], edges('abd bc cd'))).toEqual([...'abcd'])
  expect(longestChain([...'abd'], edges('abd bc cd'))).toEqual(['a', 'b'])
  expect(() => longestChain([...'abc'], edges('ab bc ca'))).toThrow('a circle: a → b → c → a')
})
