import { setTimeout as sleep } from 'node:timers/promises'
import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import type { Browser, Page } from 'playwright-core'
import { connect } from '../../local/dynamodb'
import { startGuardedEngine } from '../../local/engines/guarded-engine'
import { sluice } from '../cli/command-line'
import { minuteWith } from '../minute-with'
import { describeInBrowser, openBrowser, rememberPlaces, seriousIn } from './browser'
import { startDev } from './dev'

const PATIENCE = { timeout: 30_000 }

interface Tiers {
  readonly file: {
    readonly tiers: { readonly anonymous: { readonly policies: readonly { readonly limit: number }[] } }
  }
}

/** Waits for a condition, and not for a time. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE.timeout; !(await holds()); await sleep(50))
    if (Date.now() > end) throw new Error(`it did not come true: ${holds}`)
}

describeInBrowser('the console in a browser', () => {
  let dev: Awaited<ReturnType<typeof startDev>>
  let browser: Browser
  let page: Page
  const errors: string[] = []

  beforeAll(async () => {
    ;[dev, browser] = await Promise.all([startDev(), openBrowser()])
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    page.setDefaultTimeout(PATIENCE.timeout)
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('422')) errors.push(message.text())
    })
    await page.goto(dev.url) // as somebody would who reads the first line of npm start
    await page.getByRole('button', { name: 'Fire', exact: true }).waitFor()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await dev?.stop()
  }, 30_000)

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const field = (name: string) => page.getByLabel(name, { exact: true })
  const meter = (policy: string) => page.getByRole('meter', { name: `left of ${policy}` })
  const counter = async (id: string) =>
    Number((await page.locator(`[data-counter="${id}"]`).textContent())?.replace(',', ''))
  const becomes = (selector: string) =>
    page
      .locator(selector)
      .first()
      .waitFor({ state: 'attached', ...PATIENCE })
  const backend = async () =>
    ((await (await fetch(`${dev.url}/_local/backend-calls`)).json()) as { readonly total: number }).total
  const why = async () => (await page.locator('.why').textContent())!
  const dynamodb = async () =>
    ((await (await fetch(`${dev.url}/_local/gateway`)).json()) as { readonly dynamodb: string }).dynamodb
  const fire = async (requests: number) => {
    const before = await counter('requests')
    await field('How').selectOption('burst')
    await field('Requests').fill(String(requests))
    await button('Fire').click()
    await until(async () => (await counter('requests')) >= before + requests)
    await until(() => button('Stop').isDisabled()) // each is answered
  }

  it('is where a browser is led that asks for the root', () => {
    expect(new URL(page.url()).pathname).toBe('/_local/')
  })

  it('fires a burst until 429: the gauge is at 0, and the backend has seen the allowed ones only', async () => {
    await minuteWith(20_000)
    await fire(25)
    await becomes('.why[data-kind="denied"]') // of those sent at once, whichever was answered last
    expect(await why()).toContain('20 of this burst of 25 passed')
    await fire(1)
    await becomes('[data-policy="per-minute"][data-remaining="0"]')
    expect(await meter('per-minute').getAttribute('aria-valuenow')).toBe('0')
    expect(await why()).toMatch(/Denied with 429.*limit of 20 units/s)
    expect(await why()).toMatch(/Passes.*at \d\d:\d\d:\d\d, when enough of “per-minute” is free again/)
    expect(await why()).toContain('Nobody but callers at the same address, 127.0.0.1')
    expect(await why()).toContain('✓ Up. The circuit breaker is closed')
    const [reached, allowed] = [await backend(), await counter('allowed')]
    expect(reached).toBe(allowed)
    const cost = (await page.locator('#counters dl > div').last().locator('.soft').textContent())!
    const [, own, shared] = /([\d.]+) to the caller’s item, ([\d.]+) to the one that all share/.exec(cost)!
    expect(Number(own)).toBeGreaterThanOrEqual(1)
    expect(Number(own) + Number(shared)).toBeCloseTo(await counter('per-allowed'), 1)
    await fire(10)
    const reachedThen = await backend()
    expect(reachedThen).toBe(await counter('allowed'))
    expect(await counter('backend')).toBe(reachedThen)
    expect(await counter('denied')).toBeGreaterThanOrEqual(10)
    for (const kind of ['allowed', 'denied']) {
      const drawn = page.locator(`.legend [data-kind="${kind}"]`)
      await until(async () => (await drawn.getAttribute('data-count')) === String(await counter(kind)))
    }
  })

  it('explains the headers, the stored item and the last write', async () => {
    await page.locator('#inside > summary').click()
    expect(await page.locator('#answer').textContent()).toMatch(
      /Policy per-minute: 0 units left; the request would pass/,
    )
    const inside = await page.locator('#inside').textContent()
    expect(inside).toContain('units used in window number')
    expect(inside).toContain('this write was not applied before')
    expect(inside).toMatch(/add 1 to \w+ \(per-minute: units in window \d+\)/)
    await page.locator('#inside > summary').click()
  })

  it('says beside the field what is wrong, and changes nothing', async () => {
    const requests = await counter('requests')
    await field('Requests').fill('0') // said as it is typed, as the lab does
    await page.locator('#requests-wrong').waitFor()
    await button('Fire').click()
    expect(await page.locator('#requests-wrong').textContent()).toContain(
      'must be a whole number from 1 to 1000, got 0',
    )
    expect(await field('Requests').getAttribute('aria-invalid')).toBe('true')
    await field('Limits of tier').selectOption('anonymous')
    await field('per-minute: limit').fill('-3')
    await button('Apply limits').click()
    await page.locator('#change-limit-per-minute-wrong').waitFor()
    expect(await page.locator('#change-limit-per-minute-wrong').textContent()).toContain('got -3')
    for (const [tier, limits] of [
      ['constructor', {}],
      ['free', { nothing: { limit: 1 } }],
      ['free', [{ limit: 1 }]],
    ] as const) {
      const headers = { 'Content-Type': 'application/json' }
      const asked = { method: 'POST', headers, body: JSON.stringify({ tier, limits }) }
      expect((await fetch(`${dev.url}/_local/console/apply`, asked)).status).toBe(422)
    }
    const tiers = (await (await fetch(`${dev.url}/_local/console/tiers`)).json()) as never as Tiers
    expect(tiers.file.tiers.anonymous.policies[0]?.limit).toBe(20)
    expect(await counter('requests')).toBe(requests)
    expect(await page.locator('#change [data-change]').count()).toBe(0)
  })

  it('says that there is nothing to change, and nothing else beside it', async () => {
    await field('per-minute: limit').fill('20')
    await button('Apply limits').click()
    await becomes('#change form [data-change="unchanged"]')
    expect(await page.locator('#change form [data-change]').textContent()).toMatch(
      /^No changes at \d\d:\d\d:\d\d: these limits are in force already\.$/,
    )
  })

  it('changes a tier, says when it is in force, and the next requests are held to it', async () => {
    await field('per-minute: limit').fill('40')
    await button('Apply limits').click()
    await becomes('#change form [data-change="in-force"]') // beside the button, which is what somebody looks at
    const history = await sluice(['history', '--item', 'tier#anonymous', '--json', '--endpoint', await dynamodb()])
    expect(history.out).toContain('"how": "sluice dev console: tiers apply"')
    const allowed = await counter('allowed')
    await fire(50)
    expect((await counter('allowed')) - allowed).toBeGreaterThanOrEqual(20)
    await becomes('[data-policy="per-minute"][data-remaining="0"] [aria-valuemax="40"]')
  })

  it('resets a caller, blocks it, and lets it in again', async () => {
    await minuteWith(20_000)
    await button('Reset all limits').click()
    await becomes('[data-policy="per-minute"][data-remaining="40"]')
    await until(async () => (await page.locator('.said').textContent())!.includes('$ sluice reset ip:127.0.0.1'))
    expect(await page.locator('#change form [data-change]').count()).toBe(0) // the old answer has left
    expect(await why()).toContain('perhaps now: limits or the caller were changed since')
    await button('Block').click()
    await button('Unblock').waitFor(PATIENCE)
    const denied = await counter('denied')
    await fire(3)
    expect(await counter('denied')).toBe(denied + 3)
    await button('Unblock').click()
    await button('Block').waitFor(PATIENCE)
    const allowed = await counter('allowed')
    await until(async () => {
      await fire(1) // until the authorizer has read that the block is gone
      return (await counter('allowed')) > allowed
    })
    expect(await counter('allowed')).toBe(allowed + 1)
  })

  it('marks degraded decisions while DynamoDB is away, opens the circuit, and recovers', async () => {
    await minuteWith(20_000)
    const marked = async () => {
      const counts = await page.locator('.legend [data-kind$="-degraded"]').all()
      return (await Promise.all(counts.map((one) => one.getAttribute('data-count')))).reduce((a, b) => a + Number(b), 0)
    }
    const before = await marked()
    await page.getByRole('radio', { name: 'Unavailable' }).check()
    await becomes('.circuit[data-trouble="down"]')
    await fire(30)
    await becomes('.circuit:not([data-open="0"])')
    await until(async () => (await marked()) > before) // the legend is drawn ten times a second
    await fire(30) // nobody’s share is left
    await until(async () => /Denied with 429 without DynamoDB/.test(await why()))
    expect(await why()).toContain(
      'failure mode decided, which is local: each of the 2 authorizers counts in its own memory, and admits 20 % (localShare) of what was left, here at most 8 of 40 units. That share is used up.',
    )
    expect(await why()).toMatch(/Passes.*Who else.*Everybody.*✕ Unavailable/)
    expect(await page.locator('#away').textContent()).toContain('which is local: each authorizer counts')
    await page.getByRole('radio', { name: 'Up' }).check()
    await becomes('.circuit[data-trouble="none"]')
    await field('How').selectOption('steady')
    await field('A second').fill('5')
    await button('Fire').click()
    await becomes('.circuit[data-open="0"]')
    await button('Stop').click()
    await until(() => button('Stop').isDisabled())
    const after = await marked()
    await fire(5)
    expect(await marked()).toBeLessThanOrEqual(after) // the first ones may be two minutes old
  })

  it('moves nothing that can be pressed when something is pressed, on a wide screen and on a narrow one', async () => {
    for (const [width, tier] of [
      [1440, 'free'],
      [400, 'pro'], // of whom no instance remembers a denial
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await field('Who').selectOption(`demo-${tier}-key (tier ${tier})`)
      await becomes(`#gauges header:has-text("client:demo-${tier}")`)
      const moved = await rememberPlaces(page)
      const press = async (name: string, becomesThen: string, act = () => button(name).click()) => {
        await act()
        await becomes(becomesThen)
        expect({ width, name, moved: await moved() }).toEqual({ width, name, moved: [] })
      }
      const choose = (name: string, trouble: string) =>
        press(name, `.circuit[data-trouble="${trouble}"]`, () => page.getByRole('radio', { name }).check())
      await press('Reset all limits', '.said:not(:empty)')
      await press('Fire one', '.why[data-kind="allowed"]')
      await press('Hold to fire: 20 a second', '.why[data-kind="allowed"]')
      await choose('Unavailable', 'down')
      await press('Fire without DynamoDB', '.why[data-kind="degraded"]', () => fire(10))
      await choose('Throttling', 'throttled')
      await choose('Slow', 'slow')
      await press('Make it slow', '.circuit[data-trouble="slow"]')
      await choose('Up', 'none')
      await press('a wrong number', '#requests-wrong', async () => {
        await field('Requests').fill('0')
        await button('Fire').click()
      })
      await press('Apply limits', '#change form [data-change="unchanged"]')
      await press('Block', '.block:has-text("Unblock")')
      await press('Fire', '.why[data-kind="denied"]', () => fire(50))
      await press('Unblock', '.block:text-is("Block")')
      await press('Refund', '.said:has-text("refund")')
    }
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  it('notices what moves, is resized and goes: what the test above compares', async () => {
    const other = await browser.newPage()
    await other.setContent(`<p id="above"></p><button onclick="above.textContent = 'more'">Grow</button>
      <button onclick="this.textContent = 'a longer one'">Widen</button><p><button onclick="this.remove()">Leave</button>`)
    const press = async (name: string) => {
      const moved = await rememberPlaces(other)
      expect(await moved()).toEqual([])
      await other.getByRole('button', { name }).click()
      return moved()
    }
    expect(await press('Grow')).toHaveLength(3)
    expect(await press('Widen')).toEqual([expect.stringMatching(/^a longer one: /)])
    expect(await press('Leave')).toEqual([expect.stringMatching(/^Leave: .* → gone$/)])
    await other.close()
  })

  it('says after a reload, too, of when the last verdict is', async () => {
    await fire(1)
    const at = /GET \/hello, at \d\d:\d\d:\d\d/
    await page.reload()
    await button('Fire').waitFor()
    expect(await why()).toMatch(at)
  })

  it('says that too many windows are open, and shows the next one as soon as one is closed', async () => {
    const streams: AbortController[] = []
    for (let i = 0; i < 15; i++) {
      const stream = new AbortController()
      streams.push(stream)
      const { body } = await fetch(`${dev.url}/_local/console/events`, { signal: stream.signal })
      await body!.getReader().read() // it is open
    }
    const next = await (await browser.newContext()).newPage()
    await next.goto(`${dev.url}/_local/`)
    const status = next.locator('.top .status')
    await until(async () => (await status.textContent())!.includes('16 other windows show the console'))
    for (const stream of streams) stream.abort()
    await until(async () => (await status.textContent()) === '● connected')
    await next.context().close()
  })

  it('holds no connection while nobody sees it, and knows everything when somebody does', async () => {
    const see = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
         document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await see('hidden')
    const requests = await counter('requests')
    for (let i = 0; i < 3; i++) await fetch(`${dev.url}/hello`)
    await see('visible')
    await until(async () => (await counter('requests')) === requests + 3)
  })

  it('refuses a request from a page of another origin', async () => {
    const other = await browser.newPage()
    await other.route('http://other.example/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>other</title>' }),
    )
    await other.goto('http://other.example/')
    const requests = await counter('requests')
    const attempt = (type: string) =>
      other.evaluate(
        `fetch('${dev.url}/_local/console/fire', { method: 'POST', mode: ${type === 'text/plain' ? "'no-cors'" : "'cors'"},
          headers: { 'Content-Type': '${type}' },
          body: '{"route":"GET /hello","apiKey":null,"pace":{"kind":"burst","requests":5}}' })
          .then((answer) => answer.type, () => 'refused')`,
      )
    expect(await attempt('application/json')).toBe('refused')
    expect(['opaque', 'refused']).toContain(await attempt('text/plain'))
    await fire(1)
    expect(await counter('requests')).toBe(requests + 1)
    await other.close()
  })

  it('leaves no way from a page of another origin to DynamoDB, not even to the engine behind its guard', async () => {
    const engine = await startGuardedEngine({ engine: 'dynalite' })
    const client = connect(engine.endpoint)
    const other = await browser.newPage()
    await other.route('http://other.example/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>other</title>' }),
    )
    await other.goto('http://other.example/')
    const create = {
      TableName: 'theirs',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    }
    const attempt = (endpoint: string, mode: string) =>
      other.evaluate(
        `fetch('${endpoint}/?X-Amz-Algorithm=AWS4-HMAC-SHA256', { method: 'POST', mode: '${mode}',
          headers: ${mode === 'cors' ? `{ 'X-Amz-Target': 'DynamoDB_20120810.CreateTable', 'Content-Type': 'application/x-amz-json-1.0' }` : `{ 'Content-Type': 'text/plain' }`},
          body: '${JSON.stringify(create)}' }).then((answer) => answer.type + answer.status, () => 'refused')`,
      )
    const localhost = engine.endpoint.replace('127.0.0.1', 'localhost')
    for (const endpoint of [engine.endpoint, localhost, engine.direct]) {
      expect(await attempt(endpoint, 'cors')).toBe('refused')
      expect(['opaque0', 'refused']).toContain(await attempt(endpoint, 'no-cors'))
    }
    expect((await client.send(new ListTablesCommand({}))).TableNames).toEqual([])
    await other.close()
    client.destroy()
    await engine.stop()
  })

  it('has nothing that is seriously inaccessible, in light, in dark and on a narrow screen', async () => {
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 1280],
      ['light', 400],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      expect(await seriousIn(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    }
    expect(errors).toEqual([])
  })
})
