import { printable } from '../../terminal/output'
import type { PolicySummary, SideSummary } from './summary'

const WIDTH = 900
const HEIGHT = 220
const LEFT = 60
const BOTTOM = 24

/** Text that is safe inside HTML and its attributes, and shows all that it contains. */
export const escaped = (text: string): string => printable(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)

/** Requests allowed and denied over time, one stacked on the other. */
export function timePlot({ series, everyMs }: SideSummary, from: number, to: number): string {
  const span = Math.max(1, Math.ceil((to - from + 1) / everyMs))
  const first = Math.floor(from / everyMs) * everyMs
  const most = Math.max(1, ...series.map(({ allowed, denied }) => allowed + denied))
  const scale = niceAbove(most)
  const width = (WIDTH - LEFT) / span
  const y = (count: number) => (HEIGHT - BOTTOM) * (1 - count / scale)
  const bars = series.map(({ at, allowed, denied }) => {
    const x = LEFT + ((at - first) / everyMs) * width
    const time = new Date(at).toISOString().replace('.000', '')
    const bar = (from: number, count: number, kind: string) =>
      count === 0
        ? ''
        : `<rect class="${kind}" x="${fixed(x)}" y="${fixed(y(from + count))}" width="${fixed(Math.max(0.75, width))}" height="${fixed(y(from) - y(from + count))}"/>`
    return `<g><title>${time}: ${allowed} allowed, ${denied} denied</title>${bar(0, allowed, 'allowed')}${bar(allowed, denied, 'denied')}</g>`
  })
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = new Date(from + (to - from) * part).toISOString()
    const text = to - from > 86_400_000 ? at.slice(5, 16).replace('T', ' ') : at.slice(11, 19)
    const anchor = part === 0 ? 'start' : part === 1 ? 'end' : 'middle'
    return `<text x="${fixed(LEFT + (WIDTH - LEFT) * part)}" y="${HEIGHT - 6}" text-anchor="${anchor}">${text}</text>`
  })
  const unit = everyMs === 1000 ? 's' : `${everyMs / 1000} s`
  return svg(`requests per ${unit}`, `${grid(scale, y)}${bars.join('')}${ticks.join('')}`)
}

/** Subjects by the share of the limit that they came to at most, in tenths; those that met it in the last bar. */
export function nearnessPlot({ peaks }: PolicySummary, before: PolicySummary | undefined): string {
  const all = before ? [before.peaks, peaks] : [peaks]
  const scale = niceAbove(Math.max(1, ...all.flat()))
  const slot = (WIDTH - LEFT) / peaks.length
  const y = (count: number) => (HEIGHT - BOTTOM) * (1 - count / scale)
  const bars = all.flatMap((counts, side) =>
    counts.map((count, i) => {
      const width = (slot * 0.8) / all.length
      const x = LEFT + i * slot + slot * 0.1 + side * width
      const kind = before && side === 0 ? 'before' : i === peaks.length - 1 ? 'denied' : 'allowed'
      return `<g><title>${count} at ${rangeOf(i, peaks.length)}</title><rect class="${kind}" x="${fixed(x)}" y="${fixed(y(count))}" width="${fixed(width)}" height="${fixed(y(0) - y(count))}"/></g>`
    }),
  )
  const ticks = peaks.map(
    (_, i) =>
      `<text x="${fixed(LEFT + (i + 0.5) * slot)}" y="${HEIGHT - 6}" text-anchor="middle">${rangeOf(i, peaks.length)}</text>`,
  )
  return svg('subjects by their peak share of the limit', `${grid(scale, y)}${bars.join('')}${ticks.join('')}`)
}

const rangeOf = (tenth: number, count: number): string =>
  tenth === count - 1 ? 'met' : `${tenth * 10}–${tenth * 10 + 10} %`

function grid(scale: number, y: (count: number) => number): string {
  return [0, 0.5, 1]
    .map((part) => {
      const at = fixed(y(scale * part))
      return `<line x1="${LEFT}" x2="${WIDTH}" y1="${at}" y2="${at}"/><text x="${LEFT - 6}" y="${Number(at) + 4}" text-anchor="end">${(scale * part).toLocaleString('en-US')}</text>`
    })
    .join('')
}

const svg = (label: string, content: string): string =>
  `<svg role="img" aria-label="${escaped(label)}" viewBox="0 -8 ${WIDTH} ${HEIGHT + 8}">${content}</svg>`

const fixed = (number: number): string => number.toFixed(2)

/** 1, 2 or 5 times a power of ten, at least this. */
function niceAbove(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  return power * ([1, 2, 5, 10].find((one) => one * power >= number) ?? 10)
}
