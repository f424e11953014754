import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Deployment, deploy, sluice, TIERS } from './command-line'

const folder = mkdtempSync(join(tmpdir(), 'sluice-unread-'))
const file = join(folder, 'tiers.yaml')
const write = (settings: string) =>
  writeFileSync(file, `${settings}\ntiers:\n  anonymous: { by: ip, policies: [{ name: a, limit: 1, window: 1m }] }\n`)

let at: Deployment
beforeAll(async () => {
  at = await deploy()
  await at.put(...TIERS)
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await at.json(['clients', 'create', id, '--tier', 'free'])
})
afterAll(async () => {
  await at?.close()
  rmSync(folder, { recursive: true })
})

const WARNING =
  'warning: settings.identity has no api-key, so 6 API keys of a, b, c, d, e, … identify no client: requests with them are anonymous\n'

describe('settings.identity without api-key', () => {
  it('is warned of by diff and apply, while clients have API keys', async () => {
    write('settings: { identity: [ip] }')
    expect((await at.sluice(['tiers', 'diff', file])).err).toContain(WARNING)
    expect((await at.json(['tiers', 'diff', file])).warnings).toEqual([WARNING.slice('warning: '.length, -1)])
    const applied = await at.sluice(['tiers', 'apply', file, '--yes'])
    expect([applied.code, applied.err]).toEqual([0, expect.stringContaining(WARNING)])
  })

  it('is warned of by validate, which knows no clients', async () => {
    const said = 'warning: settings.identity has no api-key: API keys made by clients create identify no client'
    const { code, out, err } = await sluice(['tiers', 'validate', file])
    expect([code, out, err]).toEqual([0, `${file} is valid: 1 tier, 0 routes\n`, expect.stringContaining(said)])
    write('settings: { identity: [api-key, ip] }')
    expect((await sluice(['tiers', 'validate', file])).err).toBe('')
    expect((await at.sluice(['tiers', 'diff', file])).err).not.toContain('warning')
  })
})
