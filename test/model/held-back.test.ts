import fc from 'fast-check'
import { runs } from '../runs'
import { judge } from './judge'
import type { Scenario, Step } from './scenario'
import { Simulation } from './simulation'

const take = (on: number, after: number): Step => ({ do: 'take', of: 0, cost: 1, on, after })
const PACE = { name: 'pace', algorithm: 'gcra', limit: 40, window: '1s', burst: 1 } as const
const INSTANCES = [{ skewMs: 0 }, { skewMs: 0 }] as const

/** How often an instance was denied what another one got at the same moment, and what the judge finds wrong. */
async function judged(scenario: Scenario) {
  const chronicle = await new Simulation(scenario, {}).run()
  let heldBack = 0
  for (const [i, { decisions, startedAt }] of chronicle.requests.entries()) {
    const next = chronicle.requests[i + 1]
    const isTaken = next?.startedAt === startedAt && next.decisions[0]?.decision.allowed
    if (decisions[0]?.decision.allowed === false && isTaken) heldBack++
  }
  return { heldBack, breaches: judge(chronicle) }
}

it('an instance that lost to another three times is denied what the other gets, and breaks no law', async () => {
  const lost = [take(1, 25), take(0, 0)]
  const steps = [take(1, 0), take(0, 0), ...Array.from({ length: 6 }, () => lost).flat(), take(0, 25), take(1, 0)]
  const { heldBack, breaches } = await judged({ seed: 1, policies: [PACE], instances: INSTANCES, steps })
  expect(breaches).toEqual([])
  expect(heldBack).toBe(1)
})

it('instances that compete for what becomes free break no law', async () => {
  const anyStep = fc
    .record({ on: fc.constantFrom(0, 0, 1, 2), after: fc.constantFrom(0, 0, 0, 12, 25, 25, 50, 900) })
    .map(({ on, after }) => take(on, after))
  const anyPolicy = fc.constantFrom(
    PACE,
    { ...PACE, burst: 3 },
    { name: 'bucket', algorithm: 'token-bucket', limit: 40, window: '1s', burst: 2 } as const,
    { name: 'leaky', algorithm: 'leaky-bucket', limit: 40, window: '1s', burst: 2 } as const,
    { name: 'log', algorithm: 'sliding-log', limit: 2, window: '50ms' } as const,
  )
  let heldBack = 0
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      anyPolicy,
      fc.array(anyStep, { minLength: 60, maxLength: 120 }),
      async (seed, policy, steps) => {
        const instances = [...INSTANCES, { skewMs: 0 }]
        const outcome = await judged({ seed, policies: [policy], instances, steps })
        heldBack += outcome.heldBack
        expect(outcome.breaches).toEqual([])
      },
    ),
    { numRuns: runs(30, 1000) },
  )
  expect(heldBack).toBeGreaterThan(0)
})
