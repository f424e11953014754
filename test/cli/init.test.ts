import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CALLERS, type Starter, starterLines, TARGETS } from '../../cli/tiers/starter'
import { sluice } from './command-line'

const folder = mkdtempSync(join(tmpdir(), 'sluice-init-'))
const FILE = join(folder, 'tiers.yaml')
beforeEach(() => rmSync(FILE, { force: true }))
afterAll(() => rmSync(folder, { recursive: true }))

const init = (args: readonly string[], typed?: string) => sluice(['init', '--file', FILE, ...args], { typed })
const flags = ({ target, callers, limit }: Starter) => ['--for', target, '--callers', callers, '--limit', String(limit)]
const ALL = TARGETS.flatMap((target) =>
  CALLERS.flatMap((callers) => [1, 60, 1_000_000_000].map((limit) => ({ target, callers, limit }))),
)

describe('sluice init', () => {
  it.each(ALL)('writes what tiers validate takes, and prints lines: %j', async (starter) => {
    const { code, out, err } = await init(flags(starter))
    expect([code, out]).toEqual([0, starterLines(starter, FILE)])
    if (starter.target === 'library') {
      expect([err, existsSync(FILE)]).toEqual(['', false])
      return
    }
    expect(err).toBe(`written: ${FILE}\n`)
    expect(await sluice(['tiers', 'validate', FILE])).toMatchObject({ code: 0, err: '' })
    // and what stands in its comments is valid as well
    const commented = readFileSync(FILE, 'utf8').replace(/^( *)# (routes:|free:| {2}.*|- \{.*)$/gm, '$1$2')
    writeFileSync(FILE, commented)
    expect(await sluice(['tiers', 'validate', FILE])).toMatchObject({ code: 0, err: '' })
  })

  it('asks what no option answers, again where the answer is none, and an empty line is the default', async () => {
    const { code, out, err } = await init(['--limit', '7'], 'what\n2\n\n')
    expect([code, out]).toEqual([0, starterLines({ target: 'http-api', callers: 'api-key', limit: 7 }, FILE)])
    expect(err.match(/What do you protect\?/g)).toHaveLength(2)
    expect(readFileSync(FILE, 'utf8')).toContain('limit: 7,')
  })

  it('needs options where there is no terminal', async () => {
    expect(await init(['--callers', 'address'])).toEqual({
      code: 1,
      out: '',
      err: 'nothing was written: no terminal for questions, set --for cdk|http-api|library, --limit NUMBER\n',
    })
    expect(existsSync(FILE)).toBe(false)
  })

  it('writes nothing when the answers end', async () => {
    expect((await init([], '1\n')).code).toBe(1)
    expect(existsSync(FILE)).toBe(false)
  })

  it('overwrites a file only when it is told to', async () => {
    const starter: Starter = { target: 'cdk', callers: 'address', limit: 5 }
    writeFileSync(FILE, 'mine')
    const { code, err } = await init(flags(starter))
    expect([code, err]).toEqual([1, expect.stringContaining(`file ${FILE} already exists`)])
    expect(readFileSync(FILE, 'utf8')).toBe('mine')
    expect((await init([...flags(starter), '--force'])).code).toBe(0)
    expect(readFileSync(FILE, 'utf8')).toContain('limit: 5,')
  })

  it.each([
    ['--for', 'lambda', /Allowed choices are cdk, http-api, library/],
    ['--limit', '0', /whole number from 1 to 1000000000/],
    ['--file', '/nowhere/tiers.yaml', /^nothing was written: ENOENT/],
  ])('%s %s is a mistake', async (option, value, message) => {
    const { code, out, err } = await init([...flags(ALL[0]!), option, value])
    expect([code, out, err]).toEqual([1, '', expect.stringMatching(message)])
  })
})
