import { resolved } from '../shared/colours'
import { clockText } from '../shared/time-text'
import { BAR_SECONDS, type Bar, KINDS, SPAN_SECONDS, ticksFor } from './bars'

const HEIGHT = 180
const FONT = '11px system-ui, sans-serif'
/** Room for the axes, and above the bars for the total of the highest. */
const ROOM = { left: 38, right: 10, top: 16, bottom: 20 }

/** Draws the bars with both axes; the clock is this machine's. */
export function drawBars(canvas: HTMLCanvasElement, bars: readonly Bar[], nowMs: number, aheadMs: number): void {
  const width = canvas.clientWidth
  const scale = window.devicePixelRatio || 1
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(HEIGHT * scale)
  const context = canvas.getContext('2d')!
  context.scale(scale, scale)
  const colour = (name: string) => resolved(canvas.parentElement!, name)
  const [line, soft, text, panel] = ['--line', '--soft', '--text', '--panel'].map(colour) as [string, ...string[]]
  const ticks = ticksFor(Math.max(0, ...bars.map(({ total }) => total)))
  const [right, ground] = [width - ROOM.right, HEIGHT - ROOM.bottom]
  const end = Math.floor(nowMs / 1000 / BAR_SECONDS + 1) * BAR_SECONDS
  const xOf = (second: number) => right - ((end - second) / SPAN_SECONDS) * (right - ROOM.left)
  const yOf = (count: number) => ground - (count / ticks.at(-1)!) * (ground - ROOM.top)
  context.font = FONT
  context.lineWidth = 1

  context.textAlign = 'right'
  for (const tick of ticks) {
    const y = Math.round(yOf(tick)) + 0.5
    stroke(context, line, ROOM.left, y, right, y)
    context.fillStyle = soft!
    context.fillText(tick.toLocaleString('en'), ROOM.left - 6, y + 4)
  }
  const step = width > 600 ? 15 : 30
  context.textAlign = 'center'
  for (let second = Math.ceil((end - SPAN_SECONDS) / step) * step; second < end; second += step) {
    const x = Math.round(xOf(second)) + 0.5
    stroke(context, line, x, ROOM.top, x, ground + 4)
    if (x < right - 50 && x > ROOM.left + 20) context.fillText(clockText(second * 1000 - aheadMs), x, HEIGHT - 4)
  }
  context.textAlign = 'right'
  context.fillText('now', right, HEIGHT - 4)

  const wide = Math.max(2, xOf(BAR_SECONDS) - xOf(0) - 1.5)
  const fills = KINDS.map((kind) =>
    kind.isHatched ? hatched(context, colour(kind.colour), panel!) : colour(kind.colour),
  )
  let free = Number.NEGATIVE_INFINITY
  context.textAlign = 'center'
  for (const { from, counts, total } of bars) {
    const x = xOf(from) + 0.75
    let below = 0
    for (const [i, count] of counts.entries()) {
      if (count === 0) continue
      const [top, bottom] = [yOf(below + count), yOf(below)]
      context.fillStyle = fills[i]!
      context.fillRect(x, top, wide, bottom - top)
      context.strokeStyle = colour(KINDS[i]!.colour)
      context.strokeRect(x + 0.5, top + 0.5, wide - 1, Math.max(0, bottom - top - 1))
      below += count
    }
    const value = total.toLocaleString('en')
    const half = context.measureText(value).width / 2
    if (x + wide / 2 - half < free || x + wide / 2 + half > width) continue
    context.fillStyle = text!
    context.fillText(value, x + wide / 2, yOf(total) - 4)
    free = x + wide / 2 + half + 1
  }
}

function stroke(
  context: CanvasRenderingContext2D,
  colour: string,
  ...[x, y, toX, toY]: [number, number, number, number]
) {
  context.strokeStyle = colour
  context.beginPath()
  context.moveTo(x, y)
  context.lineTo(toX, toY)
  context.stroke()
}

/** Stripes, so that a colour is not all that tells what was denied. */
function hatched(context: CanvasRenderingContext2D, colour: string, ground: string): CanvasPattern {
  const tile = document.createElement('canvas')
  tile.width = tile.height = 5
  const on = tile.getContext('2d')!
  on.fillStyle = ground
  on.fillRect(0, 0, 5, 5)
  on.strokeStyle = colour
  on.lineWidth = 1.8
  for (const x of [-5, 0, 5]) {
    on.moveTo(x, 5)
    on.lineTo(x + 5, 0)
  }
  on.stroke()
  return context.createPattern(tile, 'repeat')!
}
