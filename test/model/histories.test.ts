import { crowdedStories, looserStories } from './generate'
import { tellStories } from './run'

describe('every law holds in every random history', () => {
  it('of strict policies', () => tellStories(300, { seed: 1 }))

  it('of leased and eventual ones', () => tellStories(200, { seed: 1, arbitrary: looserStories() }))

  it('of a dozen to thirty policies on each subject', () => tellStories(30, { seed: 1, arbitrary: crowdedStories() }))
})
