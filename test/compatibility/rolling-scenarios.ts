import fc from 'fast-check'
import type { Scenario } from '../model/scenario'

/** Old instances and new ones on the same items, as while a release is being deployed. */
export const rolling = (all: fc.Arbitrary<Scenario>): fc.Arbitrary<Scenario> =>
  all.chain((scenario) =>
    fc
      .array(fc.boolean(), { minLength: scenario.instances.length, maxLength: scenario.instances.length })
      .map((olds) => ({ ...scenario, instances: scenario.instances.map((one, i) => ({ ...one, old: olds[i]! })) })),
  )
