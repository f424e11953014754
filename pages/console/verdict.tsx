import { useEffect, useState } from 'preact/hooks'
import type { Standing } from './protocol'
import { type VerdictInput, verdictOf } from './verdict-text'

interface VerdictProps extends Omit<VerdictInput, 'now' | 'standing'> {
  readonly standing: Standing
  /** Added to this clock it is the gateway's. */
  readonly aheadMs: number
}

/** What became of the last request and why, what would let it pass, who else is affected, and how DynamoDB is. */
export function Verdict({ standing, look, callers, aheadMs, changedAt }: VerdictProps) {
  const now = useNow() + aheadMs
  const { kind, title, request, why, passes, others } = verdictOf({ standing, look, callers, now, changedAt })
  return (
    <section class="panel why" data-kind={kind} aria-labelledby="why-title">
      <div class="facts" role="status">
        <header>
          <h2 id="why-title">{title}</h2>
          {request && <p class="small soft">{request}</p>}
        </header>
        <p class="fact">
          {kind !== 'none' && <b>Why</b>}
          <span>{why}</span>
        </p>
        {passes && (
          <p class="fact">
            <b>Passes</b>
            <span>
              {passes.in && <span aria-hidden="true">in {passes.in}, </span>}
              {passes.text}
            </span>
          </p>
        )}
        {others && (
          <p class="fact">
            <b>Who else</b>
            <span>{others}</span>
          </p>
        )}
      </div>
      <DynamoDb standing={standing} />
    </section>
  )
}

function DynamoDb({ standing: { trouble, slowMs, circuitsOpen, instances } }: { readonly standing: Standing }) {
  const state = {
    none: circuitsOpen > 0 ? '△ Up again.' : '✓ Up.',
    slow: `△ Slow: each call waits ${slowMs} ms.`,
    throttled: '✕ Throttling: each call is refused.',
    down: '✕ Unavailable: connections are cut.',
  }[trouble]
  const probes = trouble === 'none' ? ', which closes with the first call that succeeds: send some requests' : ''
  return (
    <p role="status" class="fact circuit" data-open={circuitsOpen} data-trouble={trouble}>
      <b>DynamoDB</b>
      <span>
        <strong>{state}</strong>{' '}
        {circuitsOpen > 0
          ? `The circuit breaker is open in ${circuitsOpen} of ${instances} authorizers${probes}.`
          : 'The circuit breaker is closed: each decision is made there.'}
      </span>
    </p>
  )
}

/** This clock, a few times a second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [])
  return now
}
