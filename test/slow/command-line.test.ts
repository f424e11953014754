import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Deployment, deploy, TIERS } from '../cli/command-line'
import { startDynamoDbLocal } from '../engines/dynamodb-local'

let at: Deployment
let folder: string
beforeAll(async () => {
  at = await deploy(await startDynamoDbLocal())
  folder = mkdtempSync(join(tmpdir(), 'sluice-command-line-'))
})
afterAll(async () => {
  await at?.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('the command line on AWS’s own DynamoDB Local', () => {
  it('exports, sees edits, refuses to write over them, and applies all in one transaction', async () => {
    await at.put(...TIERS)
    const file = join(folder, 'tiers.yaml')
    const { out } = await at.sluice(['tiers', 'export'])
    writeFileSync(file, out.replace(/limit: 60\b/, 'limit: 61'))
    expect((await at.sluice(['tiers', 'diff', file])).out).toContain('61')

    await at.put({ pk: 'policy-set', sk: 'tier#free', policies: [{ name: 'per-minute', limit: 7, window: '1m' }] })
    const refused = await at.sluice(['tiers', 'apply', file, '--yes'])
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('because of edits after the export (tier free)'),
    ])
    expect((await at.sluice(['tiers', 'apply', file, '--yes', '--force'])).code).toBe(0)
    expect((await at.sluice(['tiers', 'apply', file, '--yes'])).out).toBe('no changes\n')
    expect(readFileSync(file, 'utf8')).toContain('limit: 61')
  })

  it('makes clients, rotates their keys, blocks, and tells how they stand', async () => {
    const { apiKey } = await at.json(['clients', 'create', 'acme', '--tier', 'free'])
    expect(apiKey).toMatch(/^slcs_/)
    const rotated = await at.json(['clients', 'rotate-key', 'acme'])
    expect(rotated.apiKey).not.toBe(apiKey)
    expect((await at.sluice(['block', 'add', '203.0.113.0/24', '--note', 'a flood'])).code).toBe(0)
    expect((await at.sluice(['block', 'list'])).out).toContain('203.0.113.0/24')
    expect((await at.json(['usage', 'acme'])).policies.length).toBeGreaterThan(0)
    expect((await at.sluice(['reset', 'acme'])).code).toBe(0)
    expect((await at.sluice(['clients', 'delete', 'acme', '--yes'])).code).toBe(0)
  })

  it('and is told healthy by its doctor', async () => {
    const { healthy, checks } = await at.json(['doctor'])
    expect([healthy, checks]).toEqual([true, expect.anything()])
  })
})
