import { useEffect, useState } from 'preact/hooks'
import { Panel } from '../shared/panel'
import { durationText } from '../shared/time-text'
import type { Gauge } from './protocol'
import type { Looked } from './stream'
import { RUNNING } from './verdict-text'

const MOVE_EVERY_MS = 200
/** A bar of more units than these shows no single ones. */
const MAX_TICKS = 60

interface GaugesProps {
  readonly looked: Looked | undefined
  readonly wrong: string | undefined
  /** Whether authorizers cannot count in the table now. */
  readonly isAway: boolean
}

/** What the caller has left of each policy, moving as time gives units back. */
export function Gauges({ looked, wrong, isAway }: GaugesProps) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), MOVE_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  const elapsed = looked ? Math.max(0, now - looked.at) : 0
  const here = (looked?.look.gauges ?? []).filter((one) => one.isCharged)
  return (
    <Panel
      id="gauges"
      title="What is left"
      about={
        looked && (
          <>
            of <code>{looked.look.subject}</code>
            {looked.look.tier && `, tier ${looked.look.tier}`}
            {looked.look.blocked && ', which is blocked'}
            {isAway && ', as counted in DynamoDB until now'}
          </>
        )
      }
    >
      {wrong && <p class="wrong">{wrong}</p>}
      <ul class="gauges">
        {here.map((gauge) => (
          <Bar key={`${gauge.policy} ${gauge.route}`} gauge={gauge} elapsed={elapsed} />
        ))}
      </ul>
    </Panel>
  )
}

function Bar({ gauge, elapsed }: { readonly gauge: Gauge; readonly elapsed: number }) {
  const { policy, route, who, counts, algorithm, limit, whole, window } = gauge
  const { remaining, nextMs } = at(gauge, elapsed)
  const wholeMs = Math.max(0, gauge.wholeMs - elapsed)
  const share = whole > 0 ? Math.max(0, Math.min(1, remaining / whole)) : 0
  const per = counts === RUNNING ? 'at a time' : `per ${window}`
  return (
    <li data-policy={policy} data-remaining={remaining}>
      <p class="name">
        <strong>{policy}</strong>
        {route && <code> {route}</code>}{' '}
        <span class="soft">
          {limit.toLocaleString('en')} {counts ?? 'units'} {per}
          {who && ', all callers'}, {algorithm}
        </span>
      </p>
      <div
        class={`bar${remaining <= 0 ? ' empty' : ''}`}
        role="meter"
        aria-label={`left of ${policy}`}
        aria-valuemin={0}
        aria-valuemax={whole}
        aria-valuenow={Math.max(0, remaining)}
      >
        <div style={{ width: `${share * 100}%` }} />
        {whole <= MAX_TICKS && <span style={{ backgroundSize: `${100 / whole}% 100%` }} />}
      </div>
      <p class="small">
        <strong>
          {Math.max(0, remaining).toLocaleString('en')} of {whole.toLocaleString('en')} left
        </strong>
        <span class="soft">{restText(counts, nextMs, wholeMs)}</span>
      </p>
    </li>
  )
}

function restText(counts: string | null, nextMs: number | null, wholeMs: number): string {
  if (nextMs === null) return ', full'
  if (counts === RUNNING) return `, one more when a request ends, at the latest in ${durationText(nextMs)}`
  return `, next unit in ${durationText(nextMs)}, full in ${durationText(wholeMs)}`
}

/** By the forecast, as long as nothing is sent. */
function at({ forecast, remaining, nextUnitMs }: Gauge, elapsed: number) {
  if (nextUnitMs === null) return { remaining, nextMs: null }
  if (elapsed < nextUnitMs) return { remaining, nextMs: nextUnitMs - elapsed }
  const past = forecast.filter(([inMs]) => inMs <= elapsed)
  const next = forecast.find(([inMs, units]) => inMs > elapsed && units > (past.at(-1)?.[1] ?? remaining))
  const units = Math.max(past.at(-1)?.[1] ?? remaining, remaining + 1)
  return { remaining: units, nextMs: next ? next[0] - elapsed : null }
}
