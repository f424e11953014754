import { runs } from '../runs'
import { crowdedStories, looserStories } from './generate'
import { runStories } from './run'

describe('every law holds in every random history', () => {
  it('of strict policies', () => runStories(runs(60, 300), { seed: 1 }))

  it('of leased and eventual ones', () => runStories(runs(40, 200), { seed: 1, arbitrary: looserStories() }))

  it('of a dozen to thirty policies on each subject', () =>
    runStories(runs(8, 30), { seed: 1, arbitrary: crowdedStories() }))
})
