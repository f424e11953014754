import { printable } from '../../terminal/output'
import type { PolicySummary, SideSummary } from './summary'

/** Of a plot, in units of its own. */
interface Size {
  readonly width: number
  readonly height: number
  readonly left: number
}
const WIDE: Size = { width: 900, height: 200, left: 60 }
const SMALL: Size = { width: 360, height: 140, left: 34 }
const BOTTOM = 24

/** Text that is safe inside HTML and its attributes, and shows all that it contains. */
export const escaped = (text: string): string => printable(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)

/** Bars of a plot over time: more would be thinner than a line. */
const MAX_BARS = 280

/** Requests allowed and denied over time, one stacked on the other: a plot for each side, all to the same scale. */
export function timePlots(sides: readonly SideSummary[], from: number, to: number): string[] {
  const all = sides.map((side) => fewer(side, to - from))
  const most = all.flatMap(({ series }) => series.map(({ allowed, denied }) => allowed + denied))
  return all.map((side) => timePlot(side, from, to, niceAbove(most.reduce((a, b) => Math.max(a, b), 1))))
}

/** The same in stretches of whole multiples of the length. */
function fewer({ series, everyMs }: Pick<SideSummary, 'series' | 'everyMs'>, lengthMs: number) {
  const longMs = everyMs * Math.ceil((lengthMs + 1) / everyMs / MAX_BARS)
  const sums = new Map<number, { at: number; allowed: number; denied: number }>()
  for (const { at, allowed, denied } of series) {
    const start = Math.floor(at / longMs) * longMs
    const sum = sums.get(start) ?? { at: start, allowed: 0, denied: 0 }
    sums.set(start, { at: start, allowed: sum.allowed + allowed, denied: sum.denied + denied })
  }
  return { series: [...sums.values()], everyMs: longMs }
}

function timePlot({ series, everyMs }: ReturnType<typeof fewer>, from: number, to: number, scale: number): string {
  const { width: all, height, left } = WIDE
  const first = Math.floor(from / everyMs) * everyMs
  const width = (all - left) / (Math.floor((to - first) / everyMs) + 1)
  const y = (count: number) => (height - BOTTOM) * (1 - count / scale)
  const bars = series.map(({ at, allowed, denied }) => {
    const x = left + ((at - first) / everyMs) * width
    const time = new Date(at).toISOString().replace('.000', '')
    const bar = (below: number, count: number, kind: string) =>
      count === 0
        ? ''
        : `<rect class="${kind}" x="${fixed(x)}" y="${fixed(y(below + count))}" width="${fixed(width)}" height="${fixed(y(below) - y(below + count))}"/>`
    return `<g><title>${time}: ${allowed} allowed, ${denied} denied</title>${bar(0, allowed, 'allowed')}${bar(allowed, denied, 'denied')}</g>`
  })
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = new Date(from + (to - from) * part).toISOString()
    const text = to - from > 86_400_000 ? at.slice(5, 16).replace('T', ' ') : at.slice(11, 19)
    const anchor = part === 0 ? 'start' : part === 1 ? 'end' : 'middle'
    return `<text x="${fixed(left + (all - left) * part)}" y="${height - 6}" text-anchor="${anchor}">${text}</text>`
  })
  const unit = everyMs === 1000 ? 's' : `${everyMs / 1000} s`
  return svg(`requests per ${unit}`, WIDE, `${grid(scale, WIDE, y)}${bars.join('')}${ticks.join('')}`)
}

/** Subjects by the share of the limit that they came to at most, in tenths; those that met it in the last bar. */
export function nearnessPlot({ peaks }: PolicySummary, before: PolicySummary | undefined): string {
  const all = before ? [before.peaks, peaks] : [peaks]
  const scale = niceAbove(Math.max(1, ...all.flat()))
  const { width: whole, height, left } = SMALL
  const slot = (whole - left) / peaks.length
  const y = (count: number) => (height - BOTTOM) * (1 - count / scale)
  const bars = all.flatMap((counts, side) =>
    counts.map((count, i) => {
      const width = (slot * 0.8) / all.length
      const x = left + i * slot + slot * 0.1 + side * width
      const kind = before && side === 0 ? 'before' : i === peaks.length - 1 ? 'denied' : 'allowed'
      return `<g><title>${count} at ${rangeOf(i, peaks.length)}</title><rect class="${kind}" x="${fixed(x)}" y="${fixed(y(count))}" width="${fixed(width)}" height="${fixed(y(0) - y(count))}"/></g>`
    }),
  )
  const ticks = peaks.map(
    (_, i) =>
      `<text x="${fixed(left + (i + 0.5) * slot)}" y="${height - 6}" text-anchor="middle">${i === peaks.length - 1 ? 'met' : i * 10}</text>`,
  )
  return svg(
    'subjects by their peak share of the limit',
    SMALL,
    `${grid(scale, SMALL, y)}${bars.join('')}${ticks.join('')}`,
  )
}

const rangeOf = (tenth: number, count: number): string =>
  tenth === count - 1 ? 'met' : `${tenth * 10}–${tenth * 10 + 10} %`

function grid(scale: number, { width, left }: Size, y: (count: number) => number): string {
  return [0, 0.5, 1]
    .map((part) => {
      const at = fixed(y(scale * part))
      return `<line x1="${left}" x2="${width}" y1="${at}" y2="${at}"/><text x="${left - 6}" y="${Number(at) + 4}" text-anchor="end">${(scale * part).toLocaleString('en-US')}</text>`
    })
    .join('')
}

const svg = (label: string, size: Size, content: string): string =>
  `<svg role="img" aria-label="${escaped(label)}"${size === WIDE ? ' class="wide"' : ''} viewBox="0 -10 ${size.width} ${size.height + 10}">${content}</svg>`

const fixed = (number: number): string => number.toFixed(2)

/** 1, 2 or 5 times a power of ten, at least this. */
function niceAbove(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  return power * ([1, 2, 5, 10].find((one) => one * power >= number) ?? 10)
}
