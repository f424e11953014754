import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Interrupts } from '../../cli/terminal/io'
import { readTiersFile } from '../../cli/tiers/tiers-yaml'
import { connect, TABLES } from '../../local/dynamodb'
import type { Engine } from '../../local/engines/engine'
import { startEngine } from '../../local/engines/start-engine'
import { seed } from '../../local/seed'
import { commandLines, welcome } from '../../local/welcome'
import { sluice } from '../cli/command-line'

const TIERS = readTiersFile(join(__dirname, '..', '..', 'tiers.yaml'))

describe('the command lines that npm start prints', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-welcome-'))
  let engine: Engine
  beforeAll(async () => {
    engine = await startEngine({ engine: 'dynalite' })
    const client = connect(engine.endpoint)
    await seed(client, TABLES, TIERS)
    client.destroy()
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true })
    await engine?.stop()
  })

  it('work as printed, one after another', async () => {
    for (const line of commandLines(engine.endpoint, TIERS)) {
      const [words, file] = line.split(' > ')
      const args = words!
        .split(' ')
        .slice(2)
        .map((word) => (word.endsWith('.yaml') ? join(folder, word) : word))
      const interrupts = new Interrupts()
      const onOut = () => void (args.includes('--watch') && setImmediate(() => interrupts.press()))
      const { code, out, err } = await sluice(args, { interrupts, onOut })
      expect({ line, code, err }).toEqual({
        line,
        code: 0,
        err: line.includes('clients create') ? expect.any(String) : '',
      })
      expect(out).not.toBe('')
      if (file) writeFileSync(join(folder, file), out)
    }
  })

  it('are part of its output', () => {
    const options = { tiers: 'tiers.yaml', port: 3000, api: 'rest', instances: 1 } as const
    const text = welcome({ url: 'http://localhost:3000', engine, options, tiers: TIERS })
    for (const line of commandLines(engine.endpoint, TIERS)) {
      expect(line).toMatch(/^npx sluice /)
      expect(text).toContain(`\n  ${line}\n`)
    }
  })
})
