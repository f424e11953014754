import { runStories } from '../model/run'
import { NEW } from '../model/world'
import { runs } from '../runs'
import { OLD } from './old-library'
import { rollingStories } from './rolling-stories'

it('every law holds while old instances and new ones work on the same items', () =>
  runStories(runs(30, 300), {
    seed: 1,
    arbitrary: rollingStories(),
    world: () => ({ libraries: { new: NEW, old: OLD } }),
  }))
