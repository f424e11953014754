import { useEffect, useRef } from 'preact/hooks'
import { drawRow, type Palette, PICTURE_HEIGHT, reveal, revealOn } from './drawing'
import type { Run } from './model/run'
import type { RowRun } from './model/run-row'
import type { Playhead } from './playhead'

interface Props {
  readonly row: RowRun
  readonly run: Run
  readonly highest: number
  readonly playhead: Playhead
  /** In words. */
  readonly label: string
  readonly onPoint: (at: number) => void
}

/** One row as a picture, which is drawn once for each run and size, and shown up to the playhead. */
export function RowPicture({ row, run, highest, playhead, label, onPoint }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)

  useEffect(() => {
    const shown = canvas.current!
    const whole = document.createElement('canvas')
    const context = shown.getContext('2d')!
    let palette = paletteOf(shown)
    /** Up to where it is shown, in pixels; `undefined` where all must be drawn. */
    let shownTo: number | undefined
    let isSeen = true
    const show = (at: number) => {
      const x = Math.round(shown.width * (at / run.durationMs))
      if (x === shownTo) return
      if (shownTo === undefined || x < shownTo) reveal(context, whole, x, palette)
      else revealOn(context, whole, shownTo, x, palette)
      shownTo = x
    }
    const redraw = () => {
      const [width, scale] = [shown.clientWidth, window.devicePixelRatio || 1]
      if (width === 0) return
      palette = paletteOf(shown)
      for (const one of [shown, whole]) {
        one.width = Math.round(width * scale)
        one.height = Math.round(PICTURE_HEIGHT * scale)
      }
      const into = whole.getContext('2d')!
      into.scale(scale, scale)
      drawRow(into, row, run, highest, width, palette)
      shownTo = undefined
      show(playhead.at)
    }
    redraw()
    const resized = new ResizeObserver(redraw)
    resized.observe(shown)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', redraw)
    const unsubscribe = playhead.subscribe((at, isPassing) => {
      if (isSeen || !isPassing) show(at)
    })
    const seen = new IntersectionObserver((entries) => {
      isSeen = entries.at(-1)!.isIntersecting
      if (isSeen) show(playhead.at)
    })
    seen.observe(shown)
    return () => {
      resized.disconnect()
      seen.disconnect()
      scheme.removeEventListener('change', redraw)
      unsubscribe()
    }
  }, [row, run, highest, playhead])

  const point = (event: PointerEvent) => {
    const { left, width } = canvas.current!.getBoundingClientRect()
    onPoint(Math.max(0, Math.min(1, (event.clientX - left) / width)) * run.durationMs)
  }
  return <canvas ref={canvas} class="picture" role="img" aria-label={label} onPointerDown={point} />
}

/** Colours that depend on the scheme, as an element of the page would have them. */
function paletteOf(element: HTMLElement): Palette {
  const before = element.style.color
  const colour = (name: string): string => {
    element.style.color = `var(--${name})`
    return getComputedStyle(element).color
  }
  const palette = {
    text: colour('text'),
    soft: colour('soft'),
    line: colour('line'),
    good: colour('good'),
    bad: colour('bad'),
  }
  element.style.color = before
  return palette
}
