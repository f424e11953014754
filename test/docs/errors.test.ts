import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageOf } from './examples'

const ROOT = join(__dirname, '..', '..')
const ERRORS = readFileSync(join(ROOT, 'limiter', 'errors.ts'), 'utf8')
const SOURCE = execFileSync('git', ['ls-files', 'limiter', 'lambda', 'lib', 'provisioning', 'cli'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file.endsWith('.ts') && file !== 'limiter/errors.ts')
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n')

const CODES = [.../export type MistakeCode =((?:\s+\| '\w+')+)/.exec(ERRORS)![1]!.matchAll(/'(\w+)'/g)].map(
  ([, code]) => code!,
)
const headings = (level: string) =>
  [...pageOf('errors.md').matchAll(new RegExp(`^${level} (\\w+)$`, 'gm'))].map(([, heading]) => heading!)

describe('docs/errors.md', () => {
  it('has a heading for each code of a mistake in a configuration, and no other', () => {
    expect(headings('###').sort()).toEqual([...CODES].sort())
  })

  it('has a heading for the code of each error', () => {
    const codes = [...ERRORS.matchAll(/readonly code = '(\w+)'/g)].map(([, code]) => code!)
    expect(headings('##').sort()).toEqual(codes.sort())
  })

  it('has no code that nothing reports', () => {
    expect(CODES.filter((code) => !SOURCE.includes(`'${code}'`))).toEqual([])
  })
})
