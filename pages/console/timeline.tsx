import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { resolved } from '../shared/colours'
import { Panel } from '../shared/panel'
import { drawDots, LANES, laneOf } from './dots'
import type { Known } from './stream'

const SPAN_MS = 120_000
const DRAW_EVERY_MS = 100
const RATES_HEIGHT = 120

/** Two minutes: a mark for each request by what became of it, and how many there were each second. */
export function Timeline({ known }: { readonly known: Known }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const rates = useRef<HTMLDivElement>(null)
  const latest = useRef(known)
  latest.current = known
  useEffect(() => {
    const plot = createRates(rates.current!)
    let drawn = ''
    const draw = () => {
      const { dots, aheadMs } = latest.current
      const now = Date.now() + aheadMs
      const scheme = matchMedia('(prefers-color-scheme: dark)').matches
      const width = canvas.current!.clientWidth
      // Without marks nothing moves but the time.
      const state = `${dots.length} ${dots.at(-1)?.[0]} ${scheme} ${width} ${dots.length > 0 ? now : Math.floor(now / 1000)}`
      if (state === drawn || document.visibilityState !== 'visible') return
      drawn = state
      drawDots(canvas.current!, dots, now, SPAN_MS)
      if (plot.width !== width) plot.setSize({ width, height: RATES_HEIGHT })
      plot.setData(ratesOf(dots, now))
    }
    draw()
    const timer = setInterval(draw, DRAW_EVERY_MS)
    return () => {
      clearInterval(timer)
      plot.destroy()
    }
  }, [])
  const counts = LANES.map((lane) => known.dots.filter((dot) => laneOf(dot) === lane.name).length)
  return (
    <Panel id="timeline" title="The last two minutes" about="Each mark is a request.">
      <ul class="legend">
        {LANES.map(({ name, shape, label }, i) => (
          <li key={name} data-lane={name} data-count={counts[i]}>
            <span class={`mark ${name}`} aria-hidden="true">
              {shape}
            </span>{' '}
            {label}: <strong>{counts[i]}</strong>
          </li>
        ))}
      </ul>
      <canvas
        ref={canvas}
        class="dots"
        role="img"
        aria-label={`Requests of the last two minutes: ${LANES.map(({ label }, i) => `${counts[i]} ${label}`).join(', ')}`}
      />
      <h3 id="rates-title">Requests per second: allowed ━━, denied ┅┅</h3>
      <div ref={rates} class="rates" role="img" aria-labelledby="rates-title" />
    </Panel>
  )
}

/** Requests of each whole second; the one that is not over is left out. */
function ratesOf(dots: Known['dots'], now: number): uPlot.AlignedData {
  const seconds = SPAN_MS / 1000
  const last = Math.floor(now / 1000)
  const [allowed, denied] = [new Array<number>(seconds).fill(0), new Array<number>(seconds).fill(0)]
  for (const dot of dots) {
    const i = Math.floor(dot[0] / 1000) - (last - seconds)
    if (i < 0 || i >= seconds) continue
    if (dot[1] === 0) allowed[i]!++
    else denied[i]!++
  }
  return [Array.from({ length: seconds }, (_, i) => i - seconds), allowed, denied]
}

function createRates(target: HTMLElement): uPlot {
  const colour = (name: string) => () => resolved(target, name)
  const axis: uPlot.Axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  }
  const paths = uPlot.paths.stepped!({ align: 1 })
  return new uPlot(
    {
      width: target.clientWidth,
      height: RATES_HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: [-SPAN_MS / 1000, 0] },
        y: { range: (_, __, most) => [0, Math.max(5, most * 1.1)] },
      },
      axes: [
        { ...axis, values: (_, splits) => splits.map((s) => (s === 0 ? 'now' : `${s} s`)), space: 60, size: 26 },
        { ...axis, size: 34, space: 24 },
      ],
      series: [
        {},
        { stroke: colour('--good'), width: 2, paths, points: { show: false } },
        { stroke: colour('--bad'), width: 2, dash: [5, 3], paths, points: { show: false } },
      ],
    },
    [[], [], []],
    target,
  )
}
