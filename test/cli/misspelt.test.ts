import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sluice } from './command-line'

describe('a word in a tiers file that is misspelt', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-misspelt-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it.each([
    ['algorithm: fixed-windw', 'got "fixed-windw", did you mean "fixed-window"?'],
    ['action: obsrve', 'got "obsrve", did you mean "observe"?'],
    ['algoritm: gcra', 'unknown field "algoritm", did you mean "algorithm"?'],
  ])('%s is answered with the one that was meant', async (field, said) => {
    const file = join(folder, 'tiers.yaml')
    writeFileSync(file, `tiers: { anonymous: { by: ip, policies: [{ name: a, limit: 1, window: 1m, ${field} }] } }\n`)
    const { code, err } = await sluice(['tiers', 'validate', file])
    expect([code, err]).toEqual([1, expect.stringContaining(said)])
  })
})
