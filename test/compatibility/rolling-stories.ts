import fc from 'fast-check'
import { type LeftOut, stories } from '../model/generate'
import type { Story } from '../model/story'

/** What the old release does wrong by itself, and does beside a new one as well. */
const OLD_FAULTS: LeftOut = {
  fates: ['copied', 'copied late', 'arrives late', 'answer late', 'answer lost', 'reset after'],
  steps: ['change', 'outage', 'reset', 'clock'],
}

/** Old instances and new ones on the same items, as while a release is being deployed. */
export const rollingStories = (): fc.Arbitrary<Story> =>
  stories(OLD_FAULTS).chain((story) =>
    fc
      .array(fc.boolean(), { minLength: story.instances.length, maxLength: story.instances.length })
      .map((olds) => ({ ...story, instances: story.instances.map((one, i) => ({ ...one, old: olds[i]! })) })),
  )
