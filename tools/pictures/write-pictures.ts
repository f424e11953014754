import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { ROOT } from '../../lib/authorizer-bundle'
import { chromiumPath, openBrowser } from '../../test/pages/browser'
import { startDev } from '../../test/pages/dev'

const FOLDER = join(ROOT, 'docs', 'pictures')
const QUALITY = 72
const MAX_KB = 150

/** A page as documents show it: `docs/pictures/<name>-light.webp`, and `-dark`. */
interface Picture {
  readonly name: string
  /** Below the gateway's address. */
  readonly path: string
  readonly width: number
  readonly height: number
  /** Brings the page to what is to be seen. */
  readonly prepare: (page: Page) => Promise<unknown>
}

/** Some traffic, then more than the limit allows. */
async function fireAtTheConsole(page: Page): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await page.getByLabel('How', { exact: true }).selectOption('poisson')
  await page.getByLabel('A second', { exact: true }).fill('2')
  await button('Fire').click()
  await page.waitForTimeout(8000) // so that there is something to see
  await button('Stop').click()
  await page.getByLabel('How', { exact: true }).selectOption('burst')
  await page.getByLabel('Requests', { exact: true }).fill('25')
  await button('Fire').click()
  await page.locator('.why[data-kind="denied"]').waitFor()
  await page.locator('[data-policy="per-minute"][data-remaining="0"]').waitFor()
}

const LAB: Pick<Picture, 'path' | 'prepare'> = {
  path: '/_local/lab#scenario=random',
  prepare: (page) => page.locator('[data-algorithm="gcra"] .why strong').waitFor(),
}

const PICTURES: readonly Picture[] = [
  { name: 'console', path: '/_local/', width: 1440, height: 860, prepare: fireAtTheConsole },
  { name: 'console-narrow', path: '/_local/', width: 400, height: 1480, prepare: fireAtTheConsole },
  { ...LAB, name: 'lab', width: 1240, height: 860 },
  { ...LAB, name: 'lab-narrow', width: 400, height: 820 },
]

/** `npm run docs:pictures`: the pictures of the pages that documents show, in light and in dark; or of those named. */
async function main(): Promise<void> {
  if (chromiumPath() === undefined) throw new Error('there is no Chromium here: bash .ci/chromium installs it')
  mkdirSync(FOLDER, { recursive: true })
  const [dev, browser] = await Promise.all([startDev(), openBrowser()])
  try {
    const only = process.argv.slice(2)
    for (const { name, path, width, height, prepare } of PICTURES) {
      if (only.length > 0 && !only.includes(name)) continue
      const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: 1.5 })
      await page.goto(`${dev.url}${path}`)
      await prepare(page)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.evaluate('scrollTo(0, 0)')
        await page.waitForTimeout(500) // the plots are drawn ten times a second
        const session = await page.context().newCDPSession(page)
        const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
        const picture = Buffer.from(data, 'base64')
        if (picture.length > MAX_KB * 1000) throw new Error(`${name} has ${picture.length} bytes, of ${MAX_KB} KB`)
        writeFileSync(join(FOLDER, `${name}-${colorScheme}.webp`), picture)
        console.log(`docs/pictures/${name}-${colorScheme}.webp, ${Math.ceil(picture.length / 1000)} KB`)
      }
      await page.close()
    }
  } finally {
    await browser.close()
    await dev.stop()
  }
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
