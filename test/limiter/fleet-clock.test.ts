import { FleetClock } from '../../limiter/steps'
import type { View } from '../../limiter/view'
import { MIDNIGHT } from './limiters'
import { compiled, viewOf } from './policies'

const policies = compiled({ name: 'p', algorithm: 'fixed-window', limit: 10, window: '1s' })

/** The view of a used-up window that other instances opened so many milliseconds before it begins by our clock. */
const ahead = (ms: number, at = MIDNIGHT): View => viewOf(policies, [10], at + 1000, at + 1000 - ms)
/** The view of a used-up window by our clock. */
const full = (at: number): View => viewOf(policies, [10], at)

/** Whether the item is read again so many milliseconds before our window ends, if it was last read when that began. */
const looksAgain = (fleet: FleetClock, beforeEndMs: number, at: number, costs = [1]) =>
  fleet.mayAdmit(
    full(at),
    policies,
    costs.map((cost) => ({ cost })),
    at + 1000 - beforeEndMs,
  )

describe('the clocks of other instances', () => {
  it('are ahead by the time by which their newest window precedes ours', () => {
    const fleet = new FleetClock()
    expect(fleet.observe(ahead(300), policies)).toBe(300)
    expect(fleet.observe(full(MIDNIGHT + 2000), policies)).toBe(0)
    expect(fleet.observe({ ...full(MIDNIGHT), item: { policies: {}, expiresAtSeconds: 0, marks: {} } }, policies)).toBe(
      0,
    )
  })

  it('are ahead if the window of any policy shows it', () => {
    const both = [...policies, ...compiled({ name: 'other', algorithm: 'fixed-window', limit: 10, window: '1s' })]
    const at = MIDNIGHT + 1000
    const [one, other] = both.map((policy) => viewOf([policy], [10], at).item.policies)
    const seen = (fields: object) => ({
      ...ahead(300),
      item: { policies: { ...fields }, expiresAtSeconds: 0, marks: {} },
    })
    expect([seen(one!), seen(other!)].map((view) => new FleetClock().observe(view as View, both))).toEqual([300, 300])
  })

  it('that agree are no reason to read again, whatever fits', () => {
    expect(new FleetClock().mayAdmit(viewOf(policies, [1], MIDNIGHT), policies, [{ cost: 1 }], MIDNIGHT + 500)).toBe(
      false,
    )
  })

  it('that are ahead may admit what our window denies, once their window is over', () => {
    const fleet = new FleetClock()
    const at = MIDNIGHT + 3000
    expect(looksAgain(fleet, 1, at)).toBe(false)
    fleet.observe(ahead(300), policies)
    expect([looksAgain(fleet, 301, at), looksAgain(fleet, 300, at), looksAgain(fleet, 1, at)]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('may admit a request that fits, and not one that never does', () => {
    const fleet = new FleetClock()
    fleet.observe(ahead(300), policies)
    expect(looksAgain(fleet, 10, MIDNIGHT + 3000, [11])).toBe(false)
    expect(looksAgain(fleet, 10, MIDNIGHT + 3000, [11, 10])).toBe(true)
  })

  it('may admit only what all policies admit', () => {
    const both = [...policies, ...compiled({ name: 'day', algorithm: 'fixed-window', limit: 10, window: 'day' })]
    const fleet = new FleetClock()
    fleet.observe(ahead(300), policies)
    const at = MIDNIGHT + 3000
    expect(fleet.mayAdmit(viewOf(both, [10, 1], at), both, [{ cost: 1 }], at + 900)).toBe(true)
    expect(fleet.mayAdmit(viewOf(both, [10, 10], at), both, [{ cost: 1 }], at + 900)).toBe(false)
  })

  it('are no reason to read again what was seen within 20 ms', () => {
    const fleet = new FleetClock()
    fleet.observe(ahead(300), policies)
    const seen = full(MIDNIGHT + 3900)
    expect([19, 20].map((ms) => fleet.mayAdmit(seen, policies, [{ cost: 1 }], seen.seenAt + ms))).toEqual([false, true])
    expect(
      [19, 20].map((ms) =>
        fleet.mayAdmit({ ...seen, seenAt: seen.seenAt + 2 * ms }, policies, [{ cost: 1 }], seen.seenAt + ms),
      ),
    ).toEqual([false, true])
  })

  it('are judged for a minute by the one furthest ahead', () => {
    const fleet = new FleetClock()
    fleet.observe(ahead(300), policies)
    fleet.observe(ahead(100, MIDNIGHT + 10_000), policies)
    expect(looksAgain(fleet, 300, MIDNIGHT + 20_000)).toBe(true)
    fleet.observe(ahead(400, MIDNIGHT + 30_000), policies)
    expect(looksAgain(fleet, 400, MIDNIGHT + 89_000)).toBe(true)
    expect(looksAgain(fleet, 400, MIDNIGHT + 91_000)).toBe(false)
    fleet.observe(ahead(100, MIDNIGHT + 100_000), policies)
    expect([101, 100].map((ms) => looksAgain(fleet, ms, MIDNIGHT + 110_000))).toEqual([false, true])
  })

  it('stay known as long as the same difference is seen', () => {
    const fleet = new FleetClock()
    for (let s = 0; s <= 40; s += 20) fleet.observe(ahead(300, MIDNIGHT + s * 1000), policies)
    expect(looksAgain(fleet, 300, MIDNIGHT + 90_000)).toBe(true)
    const seenAt = MIDNIGHT + 40_700
    const view = full(MIDNIGHT + 99_000) // over by then, also by ours
    expect([59_999, 60_000].map((ms) => fleet.mayAdmit(view, policies, [{ cost: 1 }], seenAt + ms))).toEqual([
      true,
      false,
    ])
  })

  it('that are more than five seconds ahead say nothing about the others', () => {
    const fleet = new FleetClock()
    expect(fleet.observe(ahead(5001), policies)).toBe(5001)
    expect(looksAgain(fleet, 1, MIDNIGHT + 3000)).toBe(false)
    fleet.observe(ahead(5000), policies)
    expect(looksAgain(fleet, 900, MIDNIGHT + 3000)).toBe(true)
  })

  it('do not matter to algorithms without windows', () => {
    const gcra = compiled({ name: 'g', algorithm: 'gcra', limit: 10, window: '1s' })
    expect(new FleetClock().observe(viewOf(gcra, [10], MIDNIGHT + 5000, MIDNIGHT), gcra)).toBe(0)
  })
})
