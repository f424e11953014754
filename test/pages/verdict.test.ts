import type { Decision, Gauge, LastAnswer, Look } from '../../pages/console/protocol'
import { type VerdictInput, verdictOf } from '../../pages/console/verdict-text'

const AT = Date.UTC(2026, 10, 27, 10, 0, 14)

const DENIED: Decision = {
  allowed: false,
  degraded: false,
  reason: 'over-limit',
  policy: 'per-minute',
  detail: 'The limit of 60 units in the policy per-minute is used up. Try again in 46 seconds.',
  limit: 60,
  remaining: 0,
  retryAfter: 46,
}

const gauge = (given: Partial<Gauge>): Gauge => ({
  policy: 'per-minute',
  isCharged: true,
  route: null,
  counts: null,
  algorithm: 'sliding-window',
  limit: 60,
  whole: 60,
  window: '1m',
  remaining: 0,
  nextUnitMs: 46_000,
  wholeMs: 100_000,
  forecast: [],
  ...given,
})

const LOOK: Look = {
  subject: 'client:acme',
  tier: 'free',
  blocked: false,
  withoutTable: { failureMode: 'local', localShare: 0.2 },
  gauges: [
    gauge({}),
    gauge({ policy: 'running', counts: 'running requests', limit: 3 }),
    gauge({ policy: 'export', route: 'GET /export' }),
    gauge({ policy: 'everybody', who: 'everybody' }),
  ],
  items: [],
}

const verdict = (decision: Partial<Decision>, given: Partial<VerdictInput> = {}, status = 429) => {
  const answer = { at: AT, request: 'GET /hello', apiKey: 'acme-key', status, headers: [], body: '' }
  const last: LastAnswer = { ...answer, decision: { ...DENIED, ...decision } }
  const callers = [{ label: 'acme-key (tier free)', apiKey: 'acme-key' }]
  const standing = { last, firing: null, instances: 2 }
  return verdictOf({ standing, look: LOOK, callers, now: AT + 1000, changedAt: 0, ...given })
}

describe('the verdict of the console', () => {
  it('of a client’s own limit: why, when it passes, and that nobody else is affected', () => {
    expect(verdict({})).toMatchObject({
      kind: 'denied',
      title: '✕ Denied with 429.',
      request: expect.stringMatching(/^GET \/hello, at \d\d:\d\d:14, by acme-key \(tier free\)$/),
      why: 'The limit of 60 units in the policy per-minute is used up. The backend never saw the request, and nothing was charged.',
      passes: {
        in: '45 s',
        text: expect.stringMatching(
          /^at \d\d:\d\d:00, when enough of “per-minute” is free again; sooner after a reset or with a higher limit\.$/,
        ),
      },
      others: 'Nobody: each client has its own “per-minute”.',
    })
    expect(verdict({ policy: 'export' }).others).toBe(
      'Nobody: each client has its own “export”, and only at GET /export.',
    )
  })

  it('of a limit that all share: that everybody is, and that a reset of one caller does not help', () => {
    const { others, passes } = verdict({ policy: 'everybody' })
    expect(others).toBe('Everybody: all callers share the limit “everybody”, so all are denied until then.')
    expect(passes!.text).toMatch(/ is free again; sooner with a higher limit\.$/)
  })

  it('does not claim whom a policy counts where it does not know the caller', () => {
    expect(verdict({}, { look: undefined }).others).toBe(
      'Those whom “per-minute” counts together with this caller, if any.',
    )
  })

  it('of running requests: what ends them, and not a time that says nothing', () => {
    const { passes } = verdict({ policy: 'running', limit: 3, retryAfter: 1 })
    expect(passes).toEqual({ text: 'as soon as one of the 3 running requests ends, or after its timeout of 1m.' })
  })

  it('says now once the time has passed, and does not insist where limits have changed since', () => {
    expect(verdict({}, { now: AT + 46_000 }).passes).toEqual({ text: expect.stringMatching(/^now, when enough/) })
    expect(verdict({}, { changedAt: AT + 1 }).passes!.text).toMatch(/^perhaps now/)
    expect(verdict({ retryAfter: 31_536_000 }).passes!.text).toMatch(/^never: it costs more than the limit/)
  })

  it('of an outage: which number decided, and that everybody is affected', () => {
    const { kind, title, why, passes, others } = verdict({ degraded: true, reason: 'degraded' })
    expect({ kind, title }).toEqual({ kind: 'degraded', title: '△ Denied with 429 without DynamoDB.' })
    expect(why).toContain(
      'admits 20 % (localShare) of what was left, here at most 12 of 60 units. That share is used up.',
    )
    expect(passes!.text).toContain('sooner once DynamoDB answers again')
    expect(others).toMatch(/^Everybody/)
    const later = verdict({ degraded: true, reason: 'degraded' }, { now: AT + 46_000 })
    expect(later.passes).toEqual({ text: 'now, as far as the authorizers’ own shares allow.' })
    expect(verdict({ degraded: true, reason: 'unavailable' }).passes!.text).toBe('once DynamoDB answers again.')
  })

  it('of a block: that it is about this caller alone', () => {
    expect(verdict({ reason: 'blocked', policy: '', detail: 'This caller is blocked.' }, {}, 403)).toMatchObject({
      title: '✕ Denied with 403.',
      passes: { text: 'once the caller is unblocked: Unblock is below.' },
      others: 'Nobody: this is about client:acme alone.',
    })
  })

  it('leaves with the next requests', () => {
    const firing = { route: 'GET /hello', apiKey: null, pace: { kind: 'burst', requests: 25 } } as const
    const standing = { last: null, firing, instances: 2 }
    expect(verdict({}, { standing })).toEqual({ kind: 'none', title: 'Sending …', why: '25 × GET /hello' })
  })
})
