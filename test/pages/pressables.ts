import { setTimeout } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'

/** Where something stands that can be pressed, in pixels of the document. */
interface Place {
  readonly name: string
  /** `x, y, width × height`; empty where it is not shown. */
  readonly at: string
}

/** Widths at which pages are tested: a desktop's and a phone's, in pixels. */
export const WIDTHS = [1440, 400] as const

const PRESSABLE = 'a[href], button, input, select, textarea, summary, canvas, [role=button], [tabindex="0"]'
/** After a press, places are compared so often, so many milliseconds apart: what comes of it may come late. */
const [SAMPLES, EVERY_MS] = [3, 80]

/** The elements are kept in the page, so that each is compared with itself, whatever has become of it. */
const keep = (mayMove: string): string =>
  `{ pressables = [...document.querySelectorAll('${PRESSABLE}')].filter((one) => !one.closest('${mayMove}')) }`
const PLACES = `pressables.map((one) => {
  const { x, y, width, height } = one.getBoundingClientRect()
  const name = one.getAttribute('aria-label') ?? (one.innerText || one.name || one.href || one.tagName)
  const [left, top, wide, high] = [x + scrollX, y + scrollY, width, height].map(Math.round)
  return { name: name.trim().slice(0, 60), at: wide === 0 ? '' : left + ', ' + top + ', ' + wide + ' × ' + high }
})`

/**
 * Presses something, and compares where all that can be pressed stands before and after it. Browsers leave out of their
 * own measure of layout shifts what follows a press.
 *
 * @param mayMove a selector of what the press is there to move, such as the rows that it sorts.
 * @returns what moved, changed its size or went away, each in words; what is new does not count.
 */
export async function movedByPress(page: Page, pressed: Locator, mayMove = 'not-there'): Promise<string[]> {
  await pressed.scrollIntoViewIfNeeded()
  await page.evaluate(keep(mayMove))
  const places = () => page.evaluate(PLACES) as Promise<Place[]>
  const scroll = () => page.evaluate('[scrollX, scrollY].join()')
  const [before, scrolled] = [await places(), await scroll()]
  await pressed.click()
  const moved = new Set<string>()
  for (let sample = 0; sample < SAMPLES; sample++) {
    await setTimeout(EVERY_MS)
    for (const [i, { at }] of (await places()).entries()) {
      const { name, at: was } = before[i]!
      if (was !== '' && at !== was) moved.add(`${name}: ${was} → ${at || 'gone'}`)
    }
    if ((await scroll()) !== scrolled) moved.add(`the page: scrolled from ${scrolled}`)
  }
  return [...moved]
}
