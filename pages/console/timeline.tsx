import { useEffect, useRef, useState } from 'preact/hooks'
import { Panel } from '../shared/panel'
import { BAR_SECONDS, barsOf, KINDS } from './bars'
import { drawBars } from './draw-bars'
import type { Known } from './stream'

const DRAW_EVERY_MS = 100

/** Every request of the last two minutes by what became of it, in one bar for each two seconds. */
export function Timeline({ known }: { readonly known: Known }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const latest = useRef(known)
  latest.current = known
  const [counts, setCounts] = useState<readonly number[]>(() => KINDS.map(() => 0))
  useEffect(() => {
    let drawn = ''
    const draw = () => {
      const { tallies, aheadMs } = latest.current
      const now = Date.now() + aheadMs
      const bars = barsOf(tallies, now)
      const scheme = matchMedia('(prefers-color-scheme: dark)').matches
      const bar = Math.floor(now / 1000 / BAR_SECONDS)
      const state = `${JSON.stringify(bars)} ${bar} ${scheme} ${canvas.current!.clientWidth} ${devicePixelRatio}`
      if (state === drawn || document.visibilityState !== 'visible') return
      drawn = state
      drawBars(canvas.current!, bars, now, aheadMs)
      setCounts(KINDS.map((_, i) => bars.reduce((sum, { counts }) => sum + counts[i]!, 0)))
    }
    draw()
    const timer = setInterval(draw, DRAW_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <Panel id="timeline" title="The last two minutes" about={`All requests, in bars of ${BAR_SECONDS} seconds.`}>
      <ul class="legend">
        {KINDS.map(({ name, label }, i) => (
          <li key={name} data-kind={name} data-count={counts[i]}>
            <span class={`swatch ${name}`} aria-hidden="true" /> <strong>{counts[i]!.toLocaleString('en')}</strong>{' '}
            {label}
          </li>
        ))}
      </ul>
      <canvas
        ref={canvas}
        class="bars"
        role="img"
        aria-label={`Requests of the last two minutes: ${KINDS.map(({ label }, i) => `${counts[i]} ${label}`).join(', ')}`}
      />
    </Panel>
  )
}
