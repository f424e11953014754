import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { buildSeedBundle } from '../../lib/seed/seed-bundle'
import { writeNotices } from '../../lib/third-party-notices'

const ROOT = join(__dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'sluice-notices-'))
afterAll(() => rmSync(folder, { recursive: true }))

const noticesIn = (outdir: string) => readFileSync(join(outdir, 'THIRD-PARTY-NOTICES.txt'), 'utf8')

describe.each([
  ['authorizer', buildAuthorizerBundle, ['valibot', 'aws-jwt-verify']],
  ['seed', buildSeedBundle, ['@aws-sdk/client-dynamodb', '@aws-sdk/core', '@aws-sdk/util-dynamodb', '@smithy/core']],
] as const)('the bundle of the %s function', (name, build, packages) => {
  const outdir = join(folder, name)
  let notices: string
  beforeAll(() => {
    build(outdir)
    notices = noticesIn(outdir)
  })

  it('comes with version and license of each package in it', () => {
    for (const one of packages) {
      const { version, license } = JSON.parse(readFileSync(join(ROOT, 'node_modules', one, 'package.json'), 'utf8'))
      expect(notices).toContain(`${one} ${version} (${license})\n`)
      const [file] = readdirSync(join(ROOT, 'node_modules', one)).filter((each) => /^license/i.test(each))
      expect(notices).toContain(readFileSync(join(ROOT, 'node_modules', one, file!), 'utf8').trim())
    }
  })

  it('repeats no license and names none of our packages', () => {
    const texts = notices.split(/-{80}/).map((part) => part.split('\n\n').slice(1).join('\n\n').trim())
    expect(new Set(texts).size).toBe(texts.length)
    expect(notices).not.toMatch(/undefined|^sluice/m)
  })

  it('does not contain the notices, which would slow cold starts', () => {
    for (const file of readdirSync(outdir).filter((one) => one.endsWith('.js'))) {
      expect(readFileSync(join(outdir, file), 'utf8')).not.toMatch(
        /copyright|permission is hereby granted|apache license/i,
      )
    }
  })
})

describe('notices', () => {
  const outputs = (path: string, bytesInOutput: number) => ({
    outputs: { 'index.js': { inputs: { [path]: { bytesInOutput } }, bytes: 1, imports: [], exports: [] } },
  })

  it('cover the packages in the bundle, and not those left out', () => {
    writeNotices(outputs('node_modules/valibot/dist/index.mjs', 1), ROOT, folder)
    expect(noticesIn(folder)).toMatch(/^valibot \d/m)
    writeNotices(outputs('node_modules/valibot/dist/index.mjs', 0), ROOT, folder)
    expect(noticesIn(folder)).not.toContain('valibot')
    writeNotices(outputs('lambda/handler.ts', 1), ROOT, folder)
    expect(noticesIn(folder)).not.toContain('(MIT)')
  })

  it('fail the build where a package has no license to hand on', () => {
    const none = join(folder, 'node_modules', 'none')
    mkdirSync(none, { recursive: true })
    writeFileSync(join(none, 'package.json'), JSON.stringify({ name: 'none', version: '1.0.0', license: 'MIT' }))
    expect(() => writeNotices(outputs('node_modules/none/index.js', 1), folder, folder)).toThrow(
      'none 1.0.0 has no license to hand on',
    )
  })
})
