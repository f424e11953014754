import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { parse } from 'yaml'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { createPages } from '../../local/console/pages'
import { writePages } from '../../pages/build'
import { fromLink } from '../../pages/lab/link'
import { explain } from '../../pages/lab/model/explain'
import { figureTexts } from '../../pages/lab/model/figure-texts'
import { run } from '../../pages/lab/model/run'
import { settingOf } from '../../pages/lab/model/scenarios'
import { SCENARIO_IDS, type Setting } from '../../pages/lab/model/setting'
import { describeInBrowser, openBrowser, seriousIn, serving } from './browser'
import { movedByPress, WIDTHS } from './pressables'

/** What a page shows when it is done: every figure of every row. */
const figuresIn = (setting: Setting): string =>
  JSON.stringify(
    run(setting).rows.map(({ algorithm, figures }) => [
      algorithm,
      ...figureTexts(figures, setting.limit).map(({ text }) => text),
    ]),
  )
const SHOWN = `JSON.stringify([...document.querySelectorAll('.algorithm')].map((row) =>
  [row.dataset.algorithm, ...[...row.querySelectorAll('[data-figure]')].map((one) => one.textContent)]))`
const PICTURES = `[...document.querySelectorAll('canvas')].map((one) => one.toDataURL()).join()`

describeInBrowser('the page of the lab', () => {
  let browser: Browser
  let server: Server
  let address: string
  let page: Page

  beforeAll(async () => {
    const pages = createPages({ log: (text) => process.stderr.write(text) })
    const served = await serving((incoming, response) => void pages.serve(incoming, response, incoming.url ?? ''))
    server = served.server
    address = `${served.url}/_local/lab`
    browser = await openBrowser()
    page = await browser.newPage()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
  })
  /** Asked from here: the page's own policy forbids it to evaluate what a wait brings. */
  const shows = async (setting: Setting, on = page) => {
    const wanted = figuresIn(setting)
    for (let shown: unknown; shown !== wanted; shown = await on.evaluate(SHOWN)) await setTimeout(10)
  }
  const open = async (link: string, on = page) => {
    await on.goto(`${address}#${link}`)
    await shows(fromLink(link).setting, on)
  }
  const unfold = async (words: string) => {
    const closed = page.locator('details:not([open])', { has: page.getByText(words) })
    if ((await closed.count()) > 0) await page.getByText(words).click()
  }
  const field = (name: string) => page.locator(`input[name="${name}"]`)

  it('shows of every scenario the figures that the model gives in Node', async () => {
    await open('')
    for (const scenario of SCENARIO_IDS) {
      await page.getByLabel('Traffic', { exact: true }).selectOption(scenario)
      await shows(settingOf(scenario))
    }
  })

  it('opens a link as the same picture', async () => {
    await open('scenario=window-edge')
    await field('limit').fill('7')
    await field('burst').fill('3')
    await shows({ ...settingOf('window-edge'), limit: 7, burst: 3 })
    const link = new URL(page.url()).hash.slice(1)
    expect(link).toBe('scenario=window-edge&limit=7&burst=3')
    const other = await browser.newPage()
    await open(link, other)
    // Canvases are drawn with the next frame, in either page.
    const areEqual = async () => (await other.evaluate(PICTURES)) === (await page.evaluate(PICTURES))
    while (!(await areEqual())) await other.waitForTimeout(50)
    await other.close()
  })

  it('says what is wrong in a link, and has defaults', async () => {
    await page.goto(`${address}#scenario=random&limit=0&colour=red`)
    await shows(settingOf('random'))
    const alert = await page.getByRole('alert').textContent()
    expect(alert).toContain('Limit must be a whole number from 1 to 1,000, got 0')
    expect(alert).toContain('"colour" is nothing that the lab knows')
  })

  it('says beside a field what is wrong with it, and changes nothing', async () => {
    await open('scenario=random')
    for (const [typed, told] of [
      ['0', 'Limit must be a whole number from 1 to 1,000, got 0'],
      ['ten', 'Limit must be a whole number from 1 to 1,000, got “ten”'],
      ['', 'Limit must be a whole number from 1 to 1,000, got nothing'],
    ] as const) {
      await field('limit').fill(typed)
      const id = await field('limit').getAttribute('aria-describedby')
      expect(await page.locator(`[id="${id}"]`).textContent()).toBe(told)
      expect(new URL(page.url()).hash).toBe('#scenario=random')
    }
    await unfold('More numbers')
    await field('windows').fill('200')
    await field('limit').fill('1000')
    expect(await page.getByRole('alert').textContent()).toContain('200,000 requests, and 100,000 are the most')
    await shows({ ...settingOf('random'), windows: 200 })
    await field('limit').fill('10')
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('steps to the eleventh request, and says why each algorithm denied it', async () => {
    const setting = settingOf('idle-then-all')
    await open('scenario=idle-then-all')
    for (let step = 0; step < 11; step++) await page.getByRole('button', { name: 'Step', exact: true }).click()
    const said = explain(setting, Array<number>(8).fill(10))
    for (const { algorithm, sentence, allowed } of said) {
      const why = page.locator(`[data-algorithm="${algorithm}"] .why[data-index="10"]`)
      await why.getByText(sentence).waitFor()
      expect(await why.textContent()).toContain(`Request 11, 2.5 min: ${allowed ? 'allowed' : 'denied'}.`)
    }
    await page.getByRole('button', { name: 'Step back' }).click()
    await page.locator('[data-algorithm="gcra"] .why[data-index="9"]').waitFor()
  })

  it('plays, pauses and plays to the end', async () => {
    await open('scenario=over-the-limit')
    const clock = page.locator('.clock')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.getByLabel('Speed').selectOption('slow') // a minute, in which a busy machine draws some frames, too
    await page.getByRole('button', { name: 'Play' }).click()
    await clock.getByText(/^(?!0 s).* of 6 min$/).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Play' }).waitFor()
    expect(await clock.textContent()).not.toBe('6 min of 6 min')
    // what was drawn strip by strip, and what nobody saw meanwhile, is what is drawn at once
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    const paused = await page.evaluate(PICTURES)
    await page.emulateMedia({ colorScheme: 'dark' })
    for (let now: unknown = paused; now === paused; now = await page.evaluate(PICTURES)) await setTimeout(10)
    await page.emulateMedia({ colorScheme: 'light' })
    for (let now: unknown; now !== paused; now = await page.evaluate(PICTURES)) await setTimeout(10)
    await page.getByLabel('Speed').selectOption('fast')
    await page.getByRole('slider', { name: 'Moment' }).fill('349920')
    await page.getByText('60 allowed, 27 denied').first().waitFor()
    await page.getByRole('button', { name: 'Play' }).click()
    await clock.getByText('6 min of 6 min').waitFor()
    await page.getByRole('button', { name: 'Play' }).waitFor()
  })

  it('is drawn with the pointer, typed, and moved by the keyboard alone', async () => {
    await open('scenario=drawn')
    const drawing = (await page.getByRole('img', { name: 'The traffic over time' }).boundingBox())!
    await page.mouse.move(drawing.x + 2, drawing.y + drawing.height / 2)
    await page.mouse.down()
    await page.mouse.move(drawing.x + drawing.width - 2, drawing.y + drawing.height / 2)
    await page.mouse.up()
    const flat = { ...settingOf('drawn'), curve: Array<number>(24).fill(150) }
    await shows(flat)
    await page.getByText('As numbers').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type('0') // all of a field is chosen by the Tab
    await shows({ ...flat, curve: [0, ...flat.curve.slice(1)] })
    await page.keyboard.type('x')
    expect(await page.getByRole('alert').textContent()).toContain('Part 1: a part must be a whole number from 0 to 500')
    await page.getByRole('slider', { name: 'Limit, requests' }).focus()
    await page.keyboard.press('ArrowRight')
    await shows({ ...flat, limit: 11, curve: [0, ...flat.curve.slice(1)] })
  })

  it('copies a row as a policy that the product accepts', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await open('scenario=random&limit=30&window=90')
    await page.getByRole('button', { name: 'Copy as policy: leaky-bucket' }).click()
    await page.getByRole('status').getByText('Copied: it goes under policies').waitFor()
    const entry = (await page.evaluate('navigator.clipboard.readText()')) as string
    const { tiers } = parseTiersFile(parse(`tiers:\n  anonymous:\n    policies:\n      ${entry}`), 'tiers.yaml')
    const wanted = {
      name: 'leaky-bucket',
      algorithm: 'leaky-bucket',
      limit: 30,
      window: '90s',
      burst: 10,
      mode: 'queue',
    }
    expect(tiers.get('anonymous')!.policies.map(({ written }) => written)).toEqual([wanted])
  })

  it.each(WIDTHS)('moves nothing that can be pressed when something is pressed, at %d pixels', async (width) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.setViewportSize({ width, height: 900 })
    const pressed = (name: string) => movedByPress(page, page.getByRole('button', { name, exact: true }))
    for (const link of ['scenario=random', 'scenario=idle-then-all&limit=200']) {
      await open(link)
      await page.locator('.why strong').first().waitFor()
      expect(await pressed('Copy link')).toEqual([])
      for (const algorithm of ['fixed-window', 'gcra'])
        expect(await pressed(`Copy as policy: ${algorithm}`)).toEqual([])
      for (const name of ['Step', 'Step', 'Step back', 'Play', 'Pause']) expect(await pressed(name)).toEqual([])
      for (const picture of await page.getByRole('img', { name: /allowed, at most/ }).all())
        expect(await movedByPress(page, picture)).toEqual([])
    }
  })

  it('gives in a dialog what the browser does not let it copy, and moves nothing', async () => {
    await open('scenario=random')
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))`)
    const copy = page.getByRole('button', { name: 'Copy as policy: gcra' })
    expect(await movedByPress(page, copy)).toEqual([])
    const byHand = page.getByRole('dialog', { name: 'Copy by hand' })
    expect(await byHand.getByRole('textbox').inputValue()).toMatch(/^- { name: gcra, .* burst: 1 }\n$/)
    await page.keyboard.press('Escape')
    await byHand.waitFor({ state: 'detached' })
    expect(await movedByPress(page, copy)).toEqual([])
    await page.keyboard.press('Escape')
  })

  it.each(['light', 'dark'] as const)('has nothing that axe-core finds serious, %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme })
    await open('scenario=drawn&colour=red')
    await unfold('More numbers')
    await unfold('As numbers')
    await field('spread').fill('x')
    expect(await seriousIn(page)).toEqual([])
    await page.setViewportSize({ width: 400, height: 800 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(400)
  })

  it('is a folder of files that any web server serves, under any path', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-lab-'))
    await writePages(folder, ['lab'])
    const types = { html: 'text/html', js: 'text/javascript', css: 'text/css' }
    const { server: plain, url } = await serving(({ url: asked = '' }, response) => {
      const name = /^\/a\/sub\/path\/([a-z-]+\.(html|js|css))$/.exec(asked)
      response.writeHead(name ? 200 : 404, { 'Content-Type': types[name?.[2] as 'html'] ?? 'text/plain' })
      response.end(name ? readFileSync(join(folder, name[1]!)) : '')
    })
    await page.goto(`${url}/a/sub/path/lab.html#scenario=three-and-three`)
    await shows(settingOf('three-and-three'))
    expect(await page.getByRole('link').count()).toBe(0) // there is no console beside it
    plain.closeAllConnections()
    plain.close()
    rmSync(folder, { recursive: true })
  })
})
