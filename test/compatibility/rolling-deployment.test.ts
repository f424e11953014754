import { scenarios } from '../model/generate'
import { runScenarios } from '../model/run'
import { NEW } from '../model/simulation'
import { runs } from '../runs'
import { OLD } from './old-library'
import { rolling } from './rolling-scenarios'

it('every law holds while old instances and new ones work on the same items', () =>
  runScenarios(runs(30, 300), {
    seed: 1,
    arbitrary: rolling(scenarios()),
    simulation: () => ({ libraries: { new: NEW, old: OLD } }),
  }))
