import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CALLERS, hasTiersFile, type Starter, starterLines, TARGETS } from '../../cli/starter/starter'
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
    if (!hasTiersFile(starter)) {
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
      err: 'nothing was written: no terminal for questions, set --for cdk|http-api|express|library, --limit NUMBER\n',
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

  describe('in a folder without a program', () => {
    const here = process.cwd()
    let empty = ''
    beforeEach(() => {
      empty = mkdtempSync(join(folder, 'My App '))
      process.chdir(empty)
    })
    afterEach(() => process.chdir(here))
    const read = (name: string) => readFileSync(join(empty, name), 'utf8')
    const made = (...args: string[]) => sluice(['init', '--limit', '9', ...args])

    it.each([
      [
        ['--for', 'cdk', '--callers', 'api-key'],
        ['.gitignore', 'README.md', 'app.mjs', 'cdk.json', 'package.json', 'tiers.yaml'],
      ],
      [
        ['--for', 'cdk', '--callers', 'address', '--file', 'a.yaml'],
        ['.gitignore', 'README.md', 'a.yaml', 'app.mjs', 'cdk.json', 'package.json'],
      ],
      [
        ['--express', '--callers', 'api-key'],
        ['.gitignore', 'README.md', 'package.json', 'server.mjs'],
      ],
      [
        ['--express', '--callers', 'address'],
        ['.gitignore', 'README.md', 'package.json', 'server.mjs'],
      ],
    ])('%j writes a program with a README of about ten lines, whose commands it prints', async (args, files) => {
      const { code, out, err } = await made(...args)
      expect([code, readdirSync(empty).sort()]).toEqual([0, files])
      expect(err.match(/^written: /gm)).toHaveLength(files.length)
      const readme = read('README.md').trimEnd().split('\n')
      expect(readme.length).toBeLessThanOrEqual(13)
      expect(out.trimEnd().split('\n')).toEqual(readme.slice(5, -1))
      expect(JSON.parse(read('package.json'))).toMatchObject({
        name: expect.stringMatching(/^my-app-[a-z0-9]+$/),
        private: true,
        type: 'module',
        scripts: { start: expect.any(String) },
      })
    })

    it('keeps what npm, git and their hosts put there', async () => {
      const manifest = { name: 'mine', dependencies: { sluice: 'file:../sluice.tgz' }, scripts: { test: 'jest' } }
      writeFileSync('package.json', JSON.stringify(manifest))
      writeFileSync('README.md', 'mine')
      writeFileSync('.gitignore', 'mine')
      mkdirSync('node_modules')
      mkdirSync('.git')
      expect((await made('--express', '--callers', 'address')).code).toBe(0)
      expect([read('README.md'), read('.gitignore')]).toEqual(['mine', 'mine'])
      const { name, dependencies, scripts } = JSON.parse(read('package.json'))
      expect([name, dependencies.sluice]).toEqual(['mine', 'file:../sluice.tgz'])
      expect(scripts).toEqual({ start: 'node server.mjs', test: 'jest' })
    })

    it.each(['app.mjs', 'src', 'index.html'])('prints lines for a program that is there already: %s', async (name) => {
      writeFileSync(name, 'mine')
      const { out } = await made('--express', '--callers', 'address')
      expect([out, readdirSync(empty)]).toEqual([
        starterLines({ target: 'express', callers: 'address', limit: 9 }, 'tiers.yaml'),
        [name],
      ])
    })

    it('writes nothing at all beside a manifest that cannot be read', async () => {
      writeFileSync('package.json', '{')
      const { code, err } = await made('--for', 'cdk', '--callers', 'address')
      expect([code, err]).toEqual([1, expect.stringMatching(/^nothing was written: package\.json could not be read: /)])
      expect(readdirSync(empty)).toEqual(['package.json'])
    })
  })

  it('is not told two things at once', async () => {
    const { code, err } = await init(['--express', ...flags(ALL[0]!)])
    expect([code, err]).toEqual([1, 'nothing was written: --express means --for express, got --for cdk as well\n'])
    expect(existsSync(FILE)).toBe(false)
  })

  it.each([
    ['--for', 'lambda', /Allowed choices are cdk, http-api, express, library/],
    ['--limit', '0', /whole number from 1 to 1000000000/],
    ['--file', '/nowhere/tiers.yaml', /^nothing was written: ENOENT/],
  ])('%s %s is a mistake', async (option, value, message) => {
    const { code, out, err } = await init([...flags(ALL[0]!), option, value])
    expect([code, out, err]).toEqual([1, '', expect.stringMatching(message)])
  })
})
