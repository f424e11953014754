import type { Provenance } from '../../lambda/config-table/items/signing-keys'
import { FailedCredentials } from '../../lambda/identity/failed-credentials'
import type { KnownClient } from '../../lambda/identity/identify'
import { FakeClock } from '../config-table/fake-table'

const ACME: KnownClient = { id: 'acme', tier: 'free', disabled: false }
const ADDRESS = 'ip:203.0.113.7'
const LIMIT = 30

/** No made-up credential is shown twice. */
let made = 0

let clock: FakeClock
let lookedUp: string[]
let remembered: Set<string>
let failed: FailedCredentials<KnownClient>

beforeEach(() => {
  clock = new FakeClock()
  lookedUp = []
  remembered = new Set()
  const known = new Map([
    ['acme-key', ACME],
    ['signed-acme', ACME],
  ])
  failed = new FailedCredentials(
    {
      remembers: (credential) => remembered.has(credential),
      find: async (credential) => {
        if (!remembered.has(credential)) lookedUp.push(credential)
        remembered.add(credential)
        return known.get(credential)
      },
    },
    clock.read,
  )
})

/** A made-up credential, which says itself who made it: `forged-7`. */
const provenanceOf = (apiKey: string) => (/^(signed|forged)-/.exec(apiKey)?.[1] ?? 'unproven') as Provenance

const find = (credential: string, address = ADDRESS, limit = LIMIT) =>
  failed.directoryFor(address, limit, provenanceOf).find(credential, credential)

async function makeUp(count: number, address = ADDRESS, limit = LIMIT): Promise<void> {
  for (let i = 0; i < count; i++) await find(`made-up-${made++}`, address, limit)
}

describe('an address that shows one unknown credential after the other', () => {
  it('has as many looked up in a minute as the limit says, and then one a second', async () => {
    await makeUp(500)
    expect(lookedUp).toHaveLength(LIMIT + 1)
    for (let second = 1; second < 60; second++) {
      clock.now += 1000
      await makeUp(20)
      expect(lookedUp).toHaveLength(LIMIT + 1 + second)
    }
    clock.now += 1000
    await makeUp(500)
    expect(lookedUp).toHaveLength(2 * LIMIT + 61)
  })

  it('gets "limited" for a credential above the limit, which is neither valid nor invalid', async () => {
    await makeUp(LIMIT + 1)
    expect(await find('acme-key')).toBe('limited')
    clock.now += 1000
    expect(await find('acme-key')).toBe(ACME)
  })

  it('does not affect callers whose credential is remembered', async () => {
    await find('acme-key')
    await makeUp(500)
    expect(await find('acme-key')).toBe(ACME)
  })

  it('has verified credentials looked up all the same, and unknown users do not count as failures', async () => {
    const checked = (credential: string) => failed.directoryFor(ADDRESS, LIMIT, provenanceOf).find(credential)
    for (let i = 0; i < 2 * LIMIT; i++) await checked(`user:${i}`)
    expect(await find('acme-key')).toBe(ACME)
    remembered.clear()
    await makeUp(LIMIT + 1)
    expect([await find('acme-key'), await checked('acme-key')]).toEqual(['limited', ACME])
  })

  it('has signed keys looked up all the same, whatever it and others have sent before', async () => {
    await makeUp(500)
    const before = lookedUp.length
    expect(await find('signed-acme')).toBe(ACME)
    for (let i = 0; i < 2 * LIMIT; i++) expect(await find(`signed-deleted-${i}`)).toBeUndefined()
    expect(lookedUp.length - before).toBe(2 * LIMIT + 1)
  })

  it('has nothing of its look-ups used up by forged keys, nor by signed ones that are nobody’s any more', async () => {
    for (let i = 0; i < 500; i++) expect(await find(`forged-${i}`)).toBeUndefined()
    expect(lookedUp).toEqual([])
    for (let i = 0; i < 2 * LIMIT; i++) await find(`signed-deleted-${i}`)
    lookedUp = []
    await makeUp(500)
    expect(lookedUp).toHaveLength(LIMIT + 1)
  })

  it('does not affect other addresses', async () => {
    await makeUp(500)
    expect(await find('acme-key', 'ip:198.51.100.1')).toBe(ACME)
  })

  it('has no failures counted for valid credentials', async () => {
    for (let i = 0; i < 100; i++) {
      remembered.clear()
      expect(await find('acme-key')).toBe(ACME)
    }
  })

  it('can have credentials looked up after a clock was set back', async () => {
    await makeUp(LIMIT + 1)
    clock.now -= 3_600_000
    await makeUp(1)
    expect(lookedUp).toHaveLength(LIMIT + 2)
  })

  it('is one of a bounded number of remembered addresses', async () => {
    await makeUp(LIMIT + 1)
    for (let i = 0; i < 10_000; i++) await find(`made-up-${made++}`, `ip:${i}`)
    const before = lookedUp.length
    await makeUp(2 * LIMIT)
    expect(lookedUp.length - before).toBe(LIMIT + 1)
  })

  it('has one looked up a second with a limit of 1', async () => {
    await makeUp(500, ADDRESS, 1)
    expect(lookedUp).toHaveLength(2)
  })
})
