import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Check, found, runChecks } from '../../acceptance/check'
import { CHECKS } from '../../acceptance/checks/index'
import { costInCents } from '../../acceptance/costs'
import { pageOf, summaryOf, tableOf } from '../../acceptance/report'
import type { Scene } from '../../acceptance/scene'
import { UNCHECKED } from '../../acceptance/unchecked'

const PAGE = readFileSync(join(__dirname, '../../docs/limitations.md'), 'utf8')

/** The paragraphs and bullets of a section. */
function linesOf(heading: string): string[] {
  const [, section = ''] = PAGE.split(`\n## ${heading}\n`)
  return section
    .split(/\n## /)[0]!
    .split(/\n\n|\n(?=- )/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

const idsIn = (text: string): string[] => [...text.matchAll(/<!-- acceptance: ([\w-]+) -->/g)].map(([, id]) => id!)

describe('docs/limitations.md and the checks of npm run acceptance', () => {
  const lines = [...linesOf('What the tests cannot see'), ...linesOf('Not known')]
  const asked = new Set([...CHECKS.flatMap(({ lines: ids }) => ids), ...UNCHECKED.map(({ line }) => line)])

  it('have a check for each thing that is not known, or a reason why there is none', () => {
    expect(lines.length).toBeGreaterThan(20)
    for (const line of lines)
      expect([line, idsIn(line).filter((id) => asked.has(id)).length]).toEqual([line, idsIn(line).length || 1])
  })

  it('ask about nothing that the page does not name', () => {
    const named = new Set(lines.flatMap(idsIn))
    expect([...asked].filter((id) => !named.has(id))).toEqual([])
  })

  it('give no line both a check and a reason why it has none', () => {
    const checked = new Set(CHECKS.flatMap(({ lines: ids }) => ids))
    expect(UNCHECKED.filter(({ line }) => checked.has(line))).toEqual([])
  })

  it('have ids of their own', () => {
    const ids = CHECKS.map(({ id }) => id)
    expect(ids).toEqual([...new Set(ids)])
  })
})

describe('a run of checks', () => {
  const check = (id: string, run: Check['run'], more: Partial<Check> = {}): Check => ({
    id,
    lines: [],
    asks: id,
    expects: 'a | b',
    run,
    ...more,
  })
  const right = check('right', async () => found(true, 'yes'))
  const wrong = check('wrong', async () => found(false, 'no <b>'))
  const broken = check('broken', async () => {
    throw new Error('no answer')
  })
  const onlyAws = check('only AWS', async () => found(true, 'yes'), { onlyAws: 'it cannot' })
  const run = (checks: readonly Check[], isEmulator = false, stop = new AbortController().signal) =>
    runChecks(checks, { isEmulator } as Scene, stop, () => {})

  it('says of each what came of it; what did not work is no answer, and ends nothing', async () => {
    const rows = await run([broken, right, wrong, onlyAws])
    expect(rows.map(({ finding }) => finding)).toEqual([
      { verdict: 'could not be told', because: 'Error: no answer' },
      { verdict: 'as expected', did: 'yes' },
      { verdict: 'differs', did: 'no <b>' },
      { verdict: 'as expected', did: 'yes' },
    ])
    expect(summaryOf(rows)).toBe('4 checks: 2 as expected, 1 differs, 1 could not be told')
    expect(tableOf(rows).split('\n')).toContain('| wrong | a \\| b | no \\<b\\> | differs |')
  })

  it('asks an emulator nothing that only AWS can tell', async () => {
    const [row] = await run([onlyAws], true)
    expect(row!.finding).toEqual({ verdict: 'could not be told', because: 'an emulator: it cannot' })
  })

  it('runs what is to be alone after all others, one by one', async () => {
    const order: string[] = []
    const noted = (id: string, alone: boolean) =>
      check(
        id,
        async () => {
          order.push(`${id} begins`)
          await new Promise(setImmediate)
          order.push(`${id} ends`)
          return found(true, '')
        },
        { alone },
      )
    await run([noted('a', true), noted('b', true), noted('c', false)])
    expect(order).toEqual(['c begins', 'c ends', 'a begins', 'a ends', 'b begins', 'b ends'])
  })

  it('begins nothing more once it is stopped', async () => {
    const controller = new AbortController()
    const stopping = check('stopping', async () => {
      controller.abort()
      return found(true, '')
    })
    const rows = await run([stopping, { ...right, alone: true }], false, controller.signal)
    expect(rows.map(({ check: { id } }) => id)).toEqual(['stopping'])
  })

  it('is saved with its date and Region, and without the account', async () => {
    const page = pageOf(
      await run([right]),
      { region: 'eu-west-1' },
      new Date('2026-12-01T10:00:00Z'),
      UNCHECKED,
      'abc1234',
    )
    expect(page).toContain('on 2026-12-01 in eu-west-1, at abc1234. 1 checks: 1 as expected')
    for (const { asks } of UNCHECKED) expect(page).toContain(`- ${asks}: `)
  })

  it('costs some cents', () => {
    expect(costInCents()).toBeGreaterThan(0)
    expect(costInCents()).toBeLessThan(100)
  })
})
