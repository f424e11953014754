import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from '../../../lib/authorizer-bundle'
import { commandsIn } from '../../docs/snippets/commands'
import { sluice } from '../command-line'

const folder = mkdtempSync(join(tmpdir(), 'sluice-workflow-'))
afterAll(() => rmSync(folder, { recursive: true }))

const tiers = (limit: number) => `
tiers:
  anonymous: { by: ip, policies: [] }
  free: { policies: [{ name: per-minute, limit: ${limit}, window: 1m }] }
`
const LOG = {
  events: [0, 1, 2, 3].map((i) => ({
    timestamp: 1_800_000_000_000 + i,
    message: JSON.stringify({ time: String(1_800_000_000_000 + i), client: 'acme', tier: 'free' }),
  })),
}

/** The command of the workflow, on files of the folder. */
function commandOf(workflow: string): string[] {
  const { jobs } = parse(readFileSync(join(ROOT, workflow), 'utf8'))
  const step = jobs.simulate.steps.find(({ name }: { readonly name?: string }) => name === 'Who would be denied')
  const [words, ...more] = commandsIn(step.run)
  expect([words!.slice(0, 3), more]).toEqual([['npx', 'sluice', 'simulate'], []])
  return words!.slice(2).map((word) => (/^[a-z]+\.(json|yaml|html)$/.test(word) ? join(folder, word) : word))
}

describe('examples/simulate/simulate.yml', () => {
  it.each([
    ['passes where nobody is denied who was not', 4, 0],
    ['fails where a client is denied that was not', 3, 3],
  ])('%s, and leaves a report', async (_, limit, code) => {
    writeFileSync(join(folder, 'access.json'), JSON.stringify(LOG))
    writeFileSync(join(folder, 'before.yaml'), tiers(4))
    writeFileSync(join(folder, 'tiers.yaml'), tiers(limit))
    const said = await sluice(commandOf('examples/simulate/simulate.yml'))
    expect([said.code, said.err]).toEqual([code, code === 0 ? expect.any(String) : expect.stringContaining('newly')])
    expect(existsSync(join(folder, 'report.html'))).toBe(true)
  })
})
