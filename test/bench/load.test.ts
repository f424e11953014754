import { parseLoadOptions } from '../../bench/load/options'
import { keyOf, pathOf } from '../../bench/load/seed'
import { type Shape, shapes } from '../../bench/load/shapes'
import { percentile } from '../../bench/statistics'

/** What would pass if each request took a unit of its client's and of everybody's. */
function passes({ requests, sender, due, clients }: Shape): number {
  const each = new Map<number, number>()
  let all = 0
  for (let i = 0; i < requests; i++) {
    const client = sender(i)
    if (client < 0 || client >= clients || !Number.isInteger(client))
      throw new Error(`request ${i} is from client ${client} of ${clients}`)
    const used = each.get(client) ?? 0
    if (used >= due.each || all >= due.all) continue
    each.set(client, used + 1)
    all++
  }
  return all
}

describe('the shapes of traffic', () => {
  it.each([400, 4000])('deny the share that they are named for, with %i requests', (requests) => {
    const denied = shapes(requests).map((shape) => [shape.name, (requests - passes(shape)) / requests])
    expect(denied).toEqual([
      ['well-behaved', 0],
      ['bursty, 25 at once of 20', 0.2],
      ['abusive, 50 % denied', 0.5],
      ['abusive, 95 % denied', 0.95],
      ['hot global, strict', 0.5],
      ['hot global, leased', 0.5],
    ])
  })

  it('say what is due: no more can pass', () => {
    for (const shape of shapes(400)) expect([shape.name, passes(shape)]).toEqual([shape.name, shape.due.all])
  })

  it('share neither keys nor routes with another target or shape', () => {
    const keys = ['gateway', 'handler'].flatMap((target) =>
      [0, 1].flatMap((shape) => [keyOf(target, shape, 0), pathOf(target, shape)]),
    )
    expect(new Set(keys).size).toBe(8)
  })
})

it('a percentile is a value that was measured', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
  expect([0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([50, 99, 100])
  expect(percentile([7], 0.01)).toBe(7)
})

describe('the command line of bench:load', () => {
  it('takes switches and an engine', () => {
    expect(parseLoadOptions([])).toEqual({ help: false, smoke: false, engine: undefined })
    expect(parseLoadOptions(['--smoke', '--engine', 'dynalite'])).toEqual({
      help: false,
      smoke: true,
      engine: 'dynalite',
    })
  })

  it.each([
    [['--quick'], "Unknown option '--quick': npm run bench:load -- --help lists the options"],
    [['--engine', 'sqlite'], '--engine must be one of dynoxide, dynalite, got "sqlite"'],
  ])('%j is one line that says what is wrong', (args, message) => {
    expect(() => parseLoadOptions(args)).toThrow(message)
  })
})
