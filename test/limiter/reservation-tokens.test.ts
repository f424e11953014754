import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { createLimiter, type PolicyInput, ReservationError, type ReserveOptions } from '../../limiter'
import { LATEST_MS } from '../../limiter/errors'
import { MemoryStore } from '../../limiter/stores/memory-store'

const T = Date.UTC(2026, 0, 1)
const TOKENS: PolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens' }
const OBSERVED: PolicyInput = { ...TOKENS, name: 'observed', limit: 100, action: 'observe' }

function scene(policies: readonly PolicyInput[] = [TOKENS]) {
  const store = new MemoryStore()
  const time = { now: T }
  const limiter = (own = policies) =>
    createLimiter({ store, policies: own, clock: () => time.now, onStoreError: 'throw', denialTtlMs: 0 })
  const one = limiter()
  const reserve = async (tokens = 100, duration: ReserveOptions['reserve'] = '2m') =>
    (await one.take('a', { costs: { tokens }, reserve: duration })).reservation!
  const left = async () =>
    Object.values((await limiter().peek('a', { cost: 0 })).policies).map(({ remaining }) => remaining)
  return { store, time, limiter, one, reserve, left }
}

type Subject = [key: string, entries: unknown[][]]
type Content = [form: number, chance: string, forMs: number, subjects: Subject[], root?: string]

function read(token: string): { content: Content; rest: string } {
  const [, text, ...rest] = token.split('.')
  return { content: JSON.parse(inflateRawSync(Buffer.from(text!, 'base64url')).toString()), rest: rest.join('.') }
}
const write = (content: unknown, rest = '..', padding = '') =>
  `2.${deflateRawSync(JSON.stringify(content) + padding).toString('base64url')}.${rest}`

describe('a reservation', () => {
  it('says its form, its name, its time and its subjects; what only policies that observe need is absent', async () => {
    const { reserve } = scene()
    const { content, rest } = read(await reserve())
    expect(content).toEqual([
      2,
      expect.stringMatching(/^[\w-]{22}$/),
      120_000,
      [[expect.any(String), expect.any(Array)]],
    ])
    expect(rest).toBe(`${T.toString(36)}..`)
  })

  it.each(['1s', '24h'] as const)('of %s is settled', async (duration) => {
    const { reserve, limiter, left } = scene()
    expect(await limiter().settle(await reserve(100, duration), 30)).toBe(true)
    expect(await left()).toEqual([970])
  })

  it.each<[string, (content: Content) => unknown, string?]>([
    ['another form', ([, ...more]) => [3, ...more]],
    ['a time below 0', (content) => content.with(2, -1)],
    ['a fraction of a time', (content) => content.with(2, 1.5)],
    ['no time', (content) => content.with(2, null as never)],
    ['a time beyond a day', (content) => content.with(2, 86_400_001)],
    ['a subject twice', (content) => content.with(3, [content[3][0]!, content[3][0]!] as never)],
    ['a subject without slots', (content) => content.with(3, [runs(content, 'a'), ['b', []]] as never)],
    ['a request before 1970', (content) => content, '-1..'],
    ['a request at no time', (content) => content, '!..'],
    ['a request later than any', (content) => content, `${(LATEST_MS + 1).toString(36)}..`],
    ['a mark of no name', (content) => content, '.x1.'],
    ['a mark of no value', (content) => content, '.0!.'],
    ['four parts', (content) => content, '.'],
    ['six parts', (content) => content, '...'],
  ])('of %s is refused', async (_, forge, rest = '..') => {
    const { one, limiter, reserve, left } = scene()
    const forged = write(forge(read(await reserve()).content), rest)
    await expect(one.settle(forged, 0)).rejects.toThrow(ReservationError)
    await expect(limiter().settle(forged, 0)).rejects.toThrow(ReservationError)
    expect(await left()).toEqual([900])
  })

  /** A slot where the first subject has its units. */
  const runs = (content: Content, key: string): Subject => {
    const [prefix] = content[3][0]![1][0] as [string]
    return [key, [[prefix, 1, { algorithm: 'concurrency', limit: 1, timeout: '1m' }]]]
  }

  it('is none of what unfolds to more than it may, nor of more characters', async () => {
    const { limiter, reserve } = scene()
    const token = await reserve()
    const { content, rest } = read(token)
    const settle = (token: string) => limiter().settle(token, 0)
    expect(await settle(write(content, rest, ' '.repeat(1000)))).toBe(false) // another name
    await expect(settle(write(content, rest, ' '.repeat(65_536)))).rejects.toThrow(ReservationError)
    await expect(settle(token + 'x'.repeat(20_001 - token.length))).rejects.toThrow(ReservationError)
    expect(await settle(token + 'x'.repeat(20_000 - token.length))).toBe(true)
  })

  it('of the latest time that is one is settled', async () => {
    const { limiter, reserve, left } = scene()
    const { content } = read(await reserve())
    expect(await limiter().settle(write(content, `${LATEST_MS.toString(36)}..`), 0)).toBe(true)
    expect(await left()).toEqual([1000])
  })

  it.each(['.01.', '.-.', '.0zz-81.'])('is settled whatever marks it has: %s', async (rest) => {
    const { limiter, reserve } = scene()
    expect(await limiter().settle(write(read(await reserve()).content, rest), 0)).toBe(true)
  })

  it('is settled by what its policy counted then, where another cost has taken its place', async () => {
    const { limiter, reserve, left } = scene()
    const token = await reserve()
    expect(await limiter([{ ...TOKENS, cost: 'words' }]).settle(token, { costs: { tokens: 10 } })).toBe(true)
    expect(await left()).toEqual([990])
  })
})

describe('a policy that observes gives back what its reservation proves that it charged', () => {
  const others = [TOKENS, OBSERVED, { ...OBSERVED, name: 'second', limit: 250 }]

  it('of several, those and no others, to any process', async () => {
    const { reserve, limiter, left } = scene(others)
    const tokens = [await reserve(), await reserve(), await reserve()]
    expect(await left()).toEqual([700, 0, 50])
    for (const token of tokens.reverse()) expect(await limiter().settle(token, 60)).toBe(true)
    expect(await left()).toEqual([820, 40, 130])
  })

  it.each<[string, (proofs: string) => string]>([
    ['none', () => ''],
    ['one', (proofs) => proofs.slice(0, 33)],
    ['cut short', (proofs) => proofs.slice(0, -1)],
    ['with other bits', (proofs) => proofs.replace(/^./, (bit) => String(1 - Number(bit)))],
    ['in another order', (proofs) => proofs.slice(25) + proofs.slice(0, 25)],
    ['of another secret', (proofs) => proofs.slice(0, 1) + 'A'.repeat(12) + proofs.slice(13)],
    ['of another hash', (proofs) => proofs.slice(0, 13) + 'A'.repeat(12) + proofs.slice(25)],
  ])('and nothing where the proofs are %s', async (_, forge) => {
    const { reserve, limiter, left } = scene(others)
    const token = await reserve()
    const parts = token.split('.')
    expect(parts[4]).toHaveLength(2 * 25)
    expect(await limiter().settle(parts.with(4, forge(parts[4]!)).join('.'), 60)).toBe(true)
    expect(await left()).toEqual([940, 0, 150])
  })

  it('and is charged a debt where nothing is proven, but not where it is proven that it charged nothing', async () => {
    const { reserve, limiter, left } = scene([TOKENS, { ...OBSERVED, limit: 300 }])
    const [charged, second] = [await reserve(), await reserve(250)]
    expect(await left()).toEqual([650, 200])
    expect(await limiter().settle(second, 300)).toBe(true)
    expect(await left()).toEqual([600, 200])
    expect(await limiter().settle(charged.split('.').with(4, '').join('.'), 150)).toBe(true)
    expect(await left()).toEqual([550, 150])
  })
})
