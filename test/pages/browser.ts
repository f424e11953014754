import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

/** The machine's Chromium, which `CHROMIUM` may name; `undefined` where there is none, or `CHROMIUM` is `none`. */
export function chromiumPath(): string | undefined {
  const { CHROMIUM, PATH = '' } = process.env
  if (CHROMIUM === 'none') return undefined
  const found = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [...(CHROMIUM ? [CHROMIUM] : []), ...found].find((path) => existsSync(path) && answers(path))
}

function answers(path: string): boolean {
  try {
    execFileSync(path, ['--version'], { stdio: 'ignore', timeout: 20_000 })
    return true
  } catch {
    return false
  }
}

const path = chromiumPath()

/** A suite in a browser; skipped, and saying why, where there is none. */
export const describeInBrowser = (name: string, suite: () => void): void =>
  path === undefined
    ? describe.skip(`${name} (no chromium here: install it, or name it with CHROMIUM)`, suite)
    : describe(name, suite)

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: path!, args: ['--no-sandbox', '--disable-dev-shm-usage'] })

/** Serves on this machine, at a port that is free. */
export async function serving(listener: RequestListener): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => server.on('error', reject).listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** The violations of accessibility rules on a page that are serious, or worse. */
export async function seriousIn(page: Page): Promise<string[]> {
  await page.evaluate(axeSource())
  const violations = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as readonly {
    readonly id: string
    readonly impact: string
    readonly help: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
  }[]
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((one) => `${one.html} ${one.failureSummary}`).join(' | ')}`,
    )
}

const axeSource = (): string => require('axe-core').source

/**
 * Remembers where everything is that can be pressed.
 *
 * @returns a function that says what has moved since, been resized or gone, each in a line. Unlike the browser's own
 * layout shift score it knows no grace time after a click. What a page scrolls by does not count.
 */
export async function rememberPlaces(page: Page): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(`window.placesBefore = ${PLACES}`)
  return () =>
    page.evaluate(`(() => {
      const now = ${PLACES}
      return [...window.placesBefore].flatMap(([one, place]) =>
        now.get(one) === place ? [] : [(one.textContent || one.id) + ': ' + place + ' → ' + (now.get(one) ?? 'gone')])
    })()`)
}

/** Left, top, width and height of each on the page, in pixels. */
const PLACES = `new Map([...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((one) => one.checkVisibility())
  .map((one) => {
    const { x, y, width, height } = one.getBoundingClientRect()
    return [one, [x + scrollX, y + scrollY, width, height].map(Math.round).join(' ')]
  }))`
