import { runs } from '../runs'
import { costsScenarios, crowdedScenarios, holdingScenarios, lockingScenarios, looserScenarios } from './generate'
import { runScenarios } from './run'

describe('every law holds in every random history', () => {
  it('of strict policies', () => runScenarios(runs(60, 300), { seed: 1 }))

  it('of policies that lock out', () => runScenarios(runs(40, 300), { seed: 1, arbitrary: lockingScenarios() }))

  it('of leased and eventual ones', () => runScenarios(runs(40, 200), { seed: 1, arbitrary: looserScenarios() }))

  it('of policies that count costs by name', () =>
    runScenarios(runs(30, 200), { seed: 1, arbitrary: costsScenarios() }))

  it('of units that are settled, and of slots', () =>
    runScenarios(runs(40, 300), { seed: 1, arbitrary: holdingScenarios() }))

  it('of a dozen to thirty policies on each subject', () =>
    runScenarios(runs(8, 30), { seed: 1, arbitrary: crowdedScenarios() }))
})
