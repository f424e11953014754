import type { PolicyInput } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { runs } from '../runs'
import { type Faults, type Instance, NO_FAULTS, PoolWorld, SUBJECT } from './pool-world'

const KINDS = [
  'nothing else',
  'other limits',
  'clocks that differ',
  'resets',
  'new instances',
  'a sliding window',
  'a steady pace',
  'sliding buckets',
] as const
type Kind = (typeof KINDS)[number]

/** Where it is not a fixed window. */
const FORMS: Partial<Record<Kind, Partial<PolicyInput>>> = {
  'a sliding window': { algorithm: 'sliding-window' },
  'a steady pace': { algorithm: 'gcra' },
  'sliding buckets': { algorithm: 'sliding-buckets', buckets: 10 },
}

/** Instances that lease one subject, whose item gets too many writes now and then, while much goes wrong. */
async function course(seed: number, kind: Kind): Promise<PoolWorld> {
  const world = new PoolWorld(seed, seed % 2 ? 500 : 1000)
  const { random, time, windowMs } = world
  const pick = <T>(...of: T[]): T => of[world.below(of.length)]!
  const upTo = (most: number) => pick(0, most * random())
  const isLarge = kind === 'new instances' // who looks for pools first where a limit is for thousands of them
  const unit = isLarge ? 100 : 1
  const limit = unit * pick(100, 300, 1000)
  const window = `${windowMs}ms` as const
  const fixed: PolicyInput = { name: 'all', algorithm: 'fixed-window', limit, window, consistency: 'leased' }
  const policy: PolicyInput = { ...fixed, ...FORMS[kind] }
  const policies = [pick(policy, policy, { ...policy, consistency: 'strict' as const })]
  world.prefix = compile(parsePolicies(policies, [], [])[0]!).prefix
  if (policy.buckets) Object.assign(world, { slotMs: windowMs / policy.buckets, heldMs: windowMs / 2 })
  const uninstall = time.install(seed)
  try {
    const skewMs = () => (kind === 'clocks that differ' ? world.below(400) - 200 : 0)
    const size = isLarge ? 12 : pick(2, 3, 5)
    const instances = Array.from({ length: size }, () => world.instance(policies, skewMs()))
    const begun = (at: number) => (isLarge ? instances.slice(0, 2 + (10 * at) / BUSY_MS) : instances)
    const freeze = (one: Instance, until: number) =>
      Object.assign(one, { frozenUntil: Math.max(one.frozenUntil, until) })
    const others = [world.instance([{ ...policy, consistency: 'strict' }], skewMs(), { autoLease: false })] // no leases
    if (kind === 'other limits')
      others.push(...[limit / 2, limit * 2].map((limit) => world.instance([{ ...policy, limit }])))
    const faults = {
      requestLost: upTo(0.05),
      answerLost: 0.02 + upTo(0.15),
      late: upTo(0.05),
      copied: upTo(0.1),
      sentTwice: upTo(0.1),
      hot: pick(0, 0.05, 0.3),
      hotPool: upTo(0.05),
      lateMs: pick(20, 400, 1500),
    }
    world.faults = faults
    const during = (at: number, ms: number, more: Partial<Faults>) => {
      time.after(at, () => Object.assign(world, { faults: { ...world.faults, ...more } }))
      const after = Object.fromEntries(Object.keys(more).map((one) => [one, faults[one as keyof Faults]]))
      time.after(at + ms, () => Object.assign(world, { faults: { ...world.faults, ...after } }))
    }
    for (const at of [100, 2300]) during(at, 100, { hot: 1 })
    for (let edge = windowMs; edge < BUSY_MS; edge += windowMs) {
      during(edge - 80, 80, { answerLost: pick(0, 0.5) })
      const instance = pick(...instances)
      time.after(edge - 40 * random(), () => freeze(instance, edge + 150 * random()))
    }
    const refundOneIn = pick(0, 0, 5)
    for (let at = 0; at < BUSY_MS; at += 3 * (0.5 + random())) {
      const instance = world.below(12) === 0 ? pick(...others) : pick(...begun(at))
      const cost = world.below(200) === 0 ? 2 * limit + 1 : unit * (world.below(6) === 0 ? 1 + world.below(3) : 1)
      time.after(at, () => void world.take(instance, cost, refundOneIn), instance)
    }
    for (let i = world.below(4); i > 0; i--)
      time.after(random() * BUSY_MS, () => freeze(pick(...instances), time.sinceStart + 2000 * random()))
    if (world.below(2) === 0) time.after(random() * BUSY_MS, () => freeze(pick(...instances), Infinity)) // a crash
    for (let i = 4 * world.below(3); i > 0; i--) {
      const one = pick(...instances) // that stops, and begins anew
      time.after(random() * BUSY_MS, () => void one.limiter.close(), one)
    }
    if (kind === 'resets')
      time.after(random() * BUSY_MS, () => void instances[0]!.limiter.reset(SUBJECT).catch(() => {}))
    await time.runUntil(BUSY_MS)
    world.faults = NO_FAULTS
    await time.runUntil(BUSY_MS + 2 * windowMs + 2500)
    for (const instance of instances.filter(({ frozenUntil }) => frozenUntil < Infinity)) {
      const before = world.tally.allowed
      for (let ms = 0; ms < 2000; ms += 100) time.after(ms, () => void world.take(instance, 1), instance)
      await time.runUntil(time.sinceStart + 2500)
      if (world.tally.allowed === before) world.broken.push('an instance got no units, though nothing fails any more')
    }
  } finally {
    uninstall()
  }
  const most = kind === 'other limits' ? 2 * limit : limit
  if (kind === 'nothing else' || kind === 'other limits' || isLarge) world.judgeWindows(most)
  if (kind === 'a sliding window') world.judgeSecondHalves()
  if (kind === 'a steady pace') world.judgePace(limit)
  if (kind === 'sliding buckets') world.judgeHalves(limit)
  world.judgeUnits()
  return world
}

const BUSY_MS = 3500

describe.each(KINDS)('units in pools, with answers lost, copies, freezes, crashes, refunds and %s,', (kind) => {
  it('are charged, deposited and spent once, in their window, and never more than the limit', async () => {
    let [pooled, mostPools] = [0, 1]
    for (let i = 0; i < runs(10, 80); i++) {
      const {
        broken,
        pooled: { drawn },
        ...world
      } = await course(30 + i, kind)
      expect([i, broken]).toEqual([i, []])
      pooled += drawn
      mostPools = Math.max(mostPools, world.mostPools)
    }
    expect(pooled).toBeGreaterThan(300)
    expect(mostPools).toBeGreaterThanOrEqual(4)
  })
})
