import fc from 'fast-check'
import { type LeftOut, scenarios } from '../model/generate'
import type { Scenario } from '../model/scenario'

/** What the old release does wrong by itself, and does beside a new one as well. */
const OLD_FAULTS: LeftOut = {
  fates: ['copied', 'copied late', 'arrives late', 'answer late', 'answer lost', 'reset after'],
  steps: ['change', 'outage', 'reset', 'clock'],
}

/** Old instances and new ones on the same items, as while a release is being deployed. */
export const rollingScenarios = (): fc.Arbitrary<Scenario> =>
  scenarios(OLD_FAULTS).chain((scenario) =>
    fc
      .array(fc.boolean(), { minLength: scenario.instances.length, maxLength: scenario.instances.length })
      .map((olds) => ({ ...scenario, instances: scenario.instances.map((one, i) => ({ ...one, old: olds[i]! })) })),
  )
