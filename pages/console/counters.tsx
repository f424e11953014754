import { Panel } from '../shared/panel'
import type { Standing } from './protocol'

/** The numbers that prove the point: one write for each allowed request, and none of the denied ones at the backend. */
export function Counters({ standing }: { readonly standing: Standing }) {
  const { requests, allowed, denied, degraded, backendCalls, stateCalls, configCalls, failedCalls } = standing
  const { allowedWatched, sharedCalls } = standing
  const perAllowed = (calls: number) => (allowedWatched === 0 ? '–' : (calls / allowedWatched).toFixed(2))
  const shares =
    allowedWatched > 0 && sharedCalls > 0
      ? `${perAllowed(stateCalls - sharedCalls)} to the caller’s item, ${perAllowed(sharedCalls)} to the one that all share (leased: the busier, the fewer). `
      : ''
  const all: readonly (readonly [id: string, label: string, value: string | number, note: string])[] = [
    ['requests', 'Requests', requests, 'since the gateway was started'],
    ['allowed', 'Allowed', allowed, degraded > 0 ? `${degraded} decided without DynamoDB` : 'by the authorizer'],
    ['denied', 'Denied', denied, 'before the backend'],
    ['backend', 'Backend calls', backendCalls, 'denied requests never get there'],
    [
      'calls',
      'DynamoDB calls',
      stateCalls,
      `for counting, since the page was first opened; ${configCalls} more for tiers and clients${failedCalls > 0 ? `, ${failedCalls} failed` : ''}`,
    ],
    [
      'per-allowed',
      'Calls per allowed request',
      perAllowed(stateCalls),
      `${shares}Writes that found a limit reached are included`,
    ],
  ]
  return (
    <Panel id="counters" title="What it cost">
      <dl class="counters">
        {all.map(([id, label, value, note]) => (
          <div key={id}>
            <dt>{label}</dt>
            <dd data-counter={id}>{typeof value === 'number' ? value.toLocaleString('en') : value}</dd>
            <dd class="small soft">{note}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
