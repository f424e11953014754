import { alike, type FairLoad, type FairWindow, fairLoad, sum } from '../../bench/scale/fair-loads'

const LOAD: FairLoad = {
  instances: 5,
  limit: 2200,
  seconds: 10,
  callers: [...alike(10, 0.9), { asks: 20 }],
  windows: 6,
}
const share = (windows: readonly FairWindow[], caller: number) =>
  sum(windows.map(({ got }) => got[caller]!)) / sum(windows.map(({ asked }) => asked[caller]!))
const used = (windows: readonly FairWindow[], limit: number) =>
  sum(windows.map(({ got }) => sum(got))) / limit / windows.length

describe('callers that share a limit, one of whom asks for twenty times its share', () => {
  test.each([
    ['fixed windows', {}, 0.95],
    ['gcra', { policy: { algorithm: 'gcra', burst: 200 } }, 0.93],
    ['clocks that differ by a second', { skewMs: 1000 }, 0.95],
  ] satisfies [string, Partial<FairLoad>, number][])('get what they ask for, each, with %s', async (_, more, least) => {
    const windows = (await fairLoad({ ...LOAD, ...more })).slice(2)
    for (let caller = 0; caller < 10; caller++) expect(share(windows, caller)).toBeGreaterThan(least)
    expect(used(windows, LOAD.limit)).toBeGreaterThan(0.85)
    expect(sum(windows.map(({ got }) => got[10]!))).toBeGreaterThan((0.9 * windows.length * LOAD.limit) / 11)
  })

  it('get a third of it without shares', async () => {
    const windows = (await fairLoad({ ...LOAD, windows: 4, fair: false })).slice(2)
    expect(share(windows, 0)).toBeLessThan(0.5)
  })

  it('get shares by their weights', async () => {
    const callers = [{ asks: 5 }, { asks: 5, weight: 3 }]
    const windows = (await fairLoad({ ...LOAD, callers })).slice(2)
    const [one, three] = [0, 1].map((caller) => sum(windows.map(({ got }) => got[caller]!)))
    expect(three! / one!).toBeGreaterThan(2.8)
    expect(three! / one!).toBeLessThan(3.2)
    expect(used(windows, LOAD.limit)).toBeGreaterThan(0.95)
  })

  it('are denied nothing by a share while the limit is enough for all', async () => {
    const windows = await fairLoad({ ...LOAD, callers: [...alike(10, 0.5), { asks: 4 }] })
    expect(sum(windows.map(({ byShare }) => byShare))).toBe(0)
  })

  it('never get more than the limit together, whatever shares say', async () => {
    for (const { got } of await fairLoad(LOAD)) expect(sum(got)).toBeLessThanOrEqual(LOAD.limit)
  })

  it('cost less than a tenth of a call a decision, beside the write of each that is admitted', async () => {
    const windows = (await fairLoad(LOAD)).slice(2)
    const beyond = sum(windows.map(({ calls, got }) => calls - sum(got)))
    expect(beyond / sum(windows.map(({ asked }) => sum(asked)))).toBeLessThan(0.1)
  })
})
