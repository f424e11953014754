import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { sluice } from '../cli/command-line'
import { describeInBrowser, openBrowser, seriousIn, serving } from './browser'
import { movedByPress, WIDTHS } from './pressables'

const START = Date.UTC(2026, 10, 25, 9)
const tiersOf = (free: number) => `
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m }] }
  free: { policies: [{ name: per-minute, limit: ${free}, window: 1m }, { name: per-hour, limit: 70, window: 1h }] }
`
/** Of client `n` in each of two minutes `4 n` requests, evenly; and of an address. */
const LOG = [0, 1].flatMap((minute) =>
  [...Array(12).keys()].flatMap((n) =>
    [...Array(4 * n).keys()].map((i) => ({
      time: START + minute * 60_000 + Math.floor(((i + 0.5) * 60_000) / (4 * n)),
      ...(n === 11 ? { ip: '203.0.113.7' } : { client: `c${n}`, tier: 'free' }),
    })),
  ),
)

describeInBrowser('the report of simulate, as a page', () => {
  let browser: Browser
  let page: Page
  let server: Server
  let url: string
  let folder: string
  const errors: string[] = []

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'report-'))
    const file = (name: string, content: string) => {
      writeFileSync(join(folder, name), content)
      return join(folder, name)
    }
    const log = file(
      'log',
      LOG.sort((a, b) => a.time - b.time)
        .map((one) => JSON.stringify(one))
        .join('\n'),
    )
    const [is, was] = [file('new.yaml', tiersOf(20)), file('old.yaml', tiersOf(60))]
    const html = join(folder, 'report.html')
    const { code, err } = await sluice(['simulate', '--log', log, '--tiers', is, '--against', was, '--html', html])
    expect([code, err]).toEqual([0, ''])
    ;({ server, url } = await serving((_, response) => response.end(readFileSync(html))))
    browser = await openBrowser()
    page = await browser.newPage()
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('pageerror', ({ message }) => errors.push(message))
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
    rmSync(folder, { recursive: true })
  })
  const open = async (width: number) => {
    await page.setViewportSize({ width, height: 860 })
    await page.goto(`${url}/?${width}`)
  }
  const column = async (title: string, place: number) =>
    await page
      .getByRole('table')
      .and(page.locator(`[aria-label="${title}"] table`))
      .locator(`td:nth-child(${place})`)
      .allTextContents()

  it.each(WIDTHS)('says in the first screen what changed, for whom and from when, at %d pixels', async (width) => {
    await open(width)
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('3 clients newly denied')
    for (const [title, ...said] of [
      ['What changed', 'tier free', '- { name: per-minute, limit: 60, window: 1m }', '+ { name: per-minute, limit: 20'],
      ['For whom', '3 of 11 clients newly denied, 0 no longer', 'client:c8', 'client:c6'],
      ['From when', '09:00:', 'UTC, 2026-11-25', 'seconds after the first request'],
    ] as const) {
      const answer = page.locator('.answers section', { has: page.getByRole('heading', { name: title }) })
      for (const one of said) expect(await answer.textContent()).toContain(one)
      const { y, height } = (await answer.boundingBox())!
      expect([title, y + height <= 860]).toEqual([title, true])
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  })

  it.each(WIDTHS)('sorts a table by each column, and moves nothing but its rows, at %d pixels', async (width) => {
    await open(width)
    const head = (name: string) => page.locator('[aria-label="Denied most"]').getByRole('columnheader', { name })
    const press = (name: string) => movedByPress(page, head(name).getByRole('button'), 'tbody')
    const denied = (await column('Denied most', 4)).map(Number)
    expect(denied).toEqual([...denied].sort((a, b) => b - a))
    expect(denied.length).toBeGreaterThan(3)
    expect(await press('requests')).toEqual([])
    expect(await head('requests').getAttribute('aria-sort')).toBe('descending')
    const requests = (await column('Denied most', 3)).map(Number)
    expect(requests).toEqual([...requests].sort((a, b) => b - a))
    expect(await press('requests')).toEqual([])
    expect((await column('Denied most', 3)).map(Number)).toEqual(requests.reverse())
    expect(await press('client')).toEqual([])
    expect(await head('requests').getAttribute('aria-sort')).toBe('none')
    const clients = await column('Denied most', 1)
    expect(clients).toEqual([...clients].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })))
    await head('client').getByRole('button').focus()
    await page.keyboard.press('Enter')
    expect(await head('client').getAttribute('aria-sort')).toBe('descending')
    expect(await column('Denied most', 1)).toEqual(clients.reverse())
  })

  it('leads from each denied client to why', async () => {
    await open(1440)
    const links = page.locator('[aria-label="Denied most"] a, [aria-label="Newly denied"] a')
    expect(await links.count()).toBeGreaterThan(8)
    for (const link of await links.all()) {
      const client = (await link.textContent())!
      const why = page.locator((await link.getAttribute('href'))!)
      expect(await why.getByRole('heading').textContent()).toBe(client)
      expect(await why.textContent()).toMatch(
        /requests denied.*\d+ by per-\w+ \(\d+ per 1\w\), (from|at) 2026-11-25 09:0/,
      )
    }
    await links.getByText('client:c10').click()
    await page.locator('article:target').waitFor()
    expect(await page.locator('article:target').textContent()).toContain(
      'client:c1040 of 80 requests denied:40 by per-minute (20 per 1m)',
    )
  })

  it.each(['light', 'dark'] as const)('has nothing that axe-core finds serious, %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme })
    await open(1440)
    expect(errors).toEqual([])
    const found = await browser.newPage({ bypassCSP: true, colorScheme })
    await found.goto(url)
    expect(await seriousIn(found)).toEqual([])
    await found.close()
  })
})
