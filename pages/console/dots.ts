import { resolved } from '../shared/colours'
import type { Dot } from './protocol'

/** The rows of marks, from the top. Shape and place say what the colour says. */
export const LANES = [
  { name: 'allowed', shape: '●', label: 'allowed', colour: '--good', share: 0.36 },
  { name: 'denied', shape: '✕', label: 'denied', colour: '--bad', share: 0.3 },
  { name: 'degraded', shape: '△', label: 'degraded', colour: '--warn', share: 0.22 },
  { name: 'other', shape: '■', label: '401, 5xx and others', colour: '--other', share: 0.12 },
] as const

type Lane = (typeof LANES)[number]['name']

/** What was decided without the table is degraded, whatever became of it. */
export const laneOf = ([, outcome, degraded]: Dot): Lane =>
  degraded === 1 ? 'degraded' : outcome === 0 ? 'allowed' : outcome === 1 ? 'denied' : 'other'

const HEIGHT = 190
const AXIS = 4
/** Side of the place of a mark, in pixels. */
const CELL = 7

/** Draws each request in its lane; those of one moment stand on each other. */
export function drawDots(canvas: HTMLCanvasElement, dots: readonly Dot[], now: number, spanMs: number): void {
  const width = canvas.clientWidth
  const scale = window.devicePixelRatio || 1
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale)
  if (canvas.height !== Math.round(HEIGHT * scale)) canvas.height = Math.round(HEIGHT * scale)
  const context = canvas.getContext('2d')!
  context.setTransform(scale, 0, 0, scale, 0, 0)
  context.clearRect(0, 0, width, HEIGHT)
  const stacks = new Map<string, number>()
  let bottom = 0
  for (const { name, colour, share, label } of LANES) {
    const height = (HEIGHT - AXIS) * share
    bottom += height
    context.strokeStyle = resolved(canvas.parentElement!, '--line')
    context.lineWidth = 1
    context.beginPath()
    context.moveTo(0, Math.round(bottom) + 0.5)
    context.lineTo(width, Math.round(bottom) + 0.5)
    context.stroke()
    context.fillStyle = resolved(canvas.parentElement!, '--soft')
    context.font = '11px system-ui, sans-serif'
    context.fillText(label, 2, bottom - height + 13)
    context.fillStyle = context.strokeStyle = resolved(canvas.parentElement!, colour)
    const most = Math.max(1, Math.floor((height - 4) / CELL))
    for (const dot of dots) {
      if (laneOf(dot) !== name) continue
      const column = Math.floor(dot[0] / (spanMs / (width / CELL)))
      const x = width - (now - (column + 0.5) * (spanMs / (width / CELL))) * (width / spanMs)
      if (x < -CELL) continue
      const key = `${name} ${column}`
      const nth = stacks.get(key) ?? 0
      stacks.set(key, nth + 1)
      if (nth < most) mark(context, name, x, bottom - 4 - nth * CELL)
      else if (nth === most) context.fillRect(x - 3, bottom - height + 1, 6, 2) // there are more
    }
  }
}

function mark(context: CanvasRenderingContext2D, lane: Lane, x: number, y: number): void {
  context.lineWidth = 1.6
  context.beginPath()
  if (lane === 'allowed') {
    context.arc(x, y, 2.7, 0, 2 * Math.PI)
    context.fill()
  } else if (lane === 'denied') {
    context.moveTo(x - 2.3, y - 2.3)
    context.lineTo(x + 2.3, y + 2.3)
    context.moveTo(x + 2.3, y - 2.3)
    context.lineTo(x - 2.3, y + 2.3)
    context.stroke()
  } else if (lane === 'degraded') {
    context.moveTo(x, y - 2.8)
    context.lineTo(x + 2.8, y + 2.3)
    context.lineTo(x - 2.8, y + 2.3)
    context.closePath()
    context.stroke()
  } else context.fillRect(x - 2.4, y - 2.4, 4.8, 4.8)
}
