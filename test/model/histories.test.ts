import { crowdedStories, looserStories } from './generate'
import { runStories } from './run'

describe('every law holds in every random history', () => {
  it('of strict policies', () => runStories(300, { seed: 1 }))

  it('of leased and eventual ones', () => runStories(200, { seed: 1, arbitrary: looserStories() }))

  it('of a dozen to thirty policies on each subject', () => runStories(30, { seed: 1, arbitrary: crowdedStories() }))
})
