import { holdEvents } from './event-law'

test('whatever event comes from somebody who has used up his limits, it is no pass, no error and no key without bound', () =>
  holdEvents(500))
