import { lineOf } from './model/line'
import type { Run } from './model/run'
import type { RowRun } from './model/run-row'

/** Colours of a picture, as the browser has worked them out. */
export interface Palette {
  readonly text: string
  readonly soft: string
  readonly line: string
  readonly good: string
  readonly bad: string
}

/** CSS pixels. */
export const PICTURE_HEIGHT = 108
const CHART = { top: 6, bottom: 70 }
const ALLOWED = { top: 77, bottom: 89 }
const DENIED = { top: 94, bottom: 104 }
/** Above so many denials in a picture, each a cross, they are strokes. */
const MAX_CROSSES_PER_PIXEL = 1 / 9

/** Draws all of a row: its line against the limit, and its requests as ticks and crosses. */
export function drawRow(
  context: CanvasRenderingContext2D,
  row: RowRun,
  { setting, windowMs, durationMs }: Run,
  highest: number,
  width: number,
  palette: Palette,
): void {
  const yOf = (units: number): number => CHART.bottom - (units / highest) * (CHART.bottom - CHART.top)
  const limitY = yOf(setting.limit)
  context.clearRect(0, 0, width, PICTURE_HEIGHT)
  context.lineWidth = 1

  context.fillStyle = palette.line
  for (let at = 0; at <= durationMs; at += windowMs)
    context.fillRect((at / durationMs) * width, CHART.top, 1, CHART.bottom - CHART.top)
  context.fillRect(0, CHART.bottom, width, 1)

  const line = lineOf(row.passes, windowMs, durationMs, Math.max(1, Math.floor(width)))
  context.fillStyle = palette.bad
  for (let x = 0; x < line.length; x++) {
    if (line[x]! <= setting.limit) continue
    context.globalAlpha = x % 4 < 2 ? 0.75 : 0.35 // stripes, which are seen without colours too
    context.fillRect(x, yOf(line[x]!), 1, limitY - yOf(line[x]!))
  }
  context.globalAlpha = 1
  strokeLine(context, line, yOf, palette.text)

  context.strokeStyle = palette.soft
  context.setLineDash([5, 4])
  context.beginPath()
  context.moveTo(0, limitY)
  context.lineTo(width, limitY)
  context.stroke()
  context.setLineDash([])
  context.fillStyle = palette.soft
  context.font = '11px system-ui, sans-serif'
  context.fillText(String(setting.limit), 3, limitY - 3)

  drawRequests(context, row, durationMs, width, palette)
}

function strokeLine(
  context: CanvasRenderingContext2D,
  line: Float64Array,
  yOf: (units: number) => number,
  ink: string,
): void {
  context.strokeStyle = ink
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(0, yOf(line[0]!))
  for (let x = 1; x < line.length; x++) {
    if (line[x] !== line[x - 1]) context.lineTo(x, yOf(line[x - 1]!))
    context.lineTo(x, yOf(line[x]!))
  }
  context.stroke()
  context.lineWidth = 1
}

/** What was allowed stands as a tick in the upper lane, what was denied as a cross in the lower one. */
function drawRequests(
  context: CanvasRenderingContext2D,
  { times, allowed }: RowRun,
  durationMs: number,
  width: number,
  { good, bad }: Palette,
): void {
  const seen: [Set<number>, Set<number>] = [new Set(), new Set()]
  for (let i = 0; i < times.length; i++) seen[allowed[i] as 0 | 1].add(Math.floor((times[i]! / durationMs) * width))
  const [denied, admitted] = seen
  context.fillStyle = good
  for (const x of admitted) context.fillRect(x, ALLOWED.top, 1.5, ALLOWED.bottom - ALLOWED.top)
  context.strokeStyle = bad
  context.fillStyle = bad
  const [middle, half] = [(DENIED.top + DENIED.bottom) / 2, 3]
  if (denied.size > width * MAX_CROSSES_PER_PIXEL) {
    for (const x of denied) context.fillRect(x, middle - half, 1, 2 * half)
    return
  }
  context.lineWidth = 1.5
  context.beginPath()
  for (const x of denied) {
    context.moveTo(x - half, middle - half)
    context.lineTo(x + half, middle + half)
    context.moveTo(x + half, middle - half)
    context.lineTo(x - half, middle + half)
  }
  context.stroke()
  context.lineWidth = 1
}

/** In pixels, as what it stands on. */
const MARKER = 2

/** Shows a finished picture up to a place, in pixels, and what is to come faintly. */
export function reveal(
  context: CanvasRenderingContext2D,
  picture: HTMLCanvasElement,
  x: number,
  palette: Palette,
): void {
  const { width, height } = context.canvas
  context.clearRect(0, 0, width, height)
  if (x < width) {
    context.globalAlpha = 0.18
    context.drawImage(picture, x, 0, width - x, height, x, 0, width - x, height)
    context.globalAlpha = 1
  }
  revealOn(context, picture, 0, x, palette)
}

/** Goes on from one place to a later one: what is before and after them stays as it is. */
export function revealOn(
  context: CanvasRenderingContext2D,
  picture: HTMLCanvasElement,
  from: number,
  x: number,
  palette: Palette,
): void {
  const { width, height } = context.canvas
  context.clearRect(from, 0, x - from, height)
  if (x > from) context.drawImage(picture, from, 0, x - from, height, from, 0, x - from, height)
  if (x >= width) return
  context.fillStyle = palette.text
  context.fillRect(x, 0, MARKER, height)
}
