import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { RingKey } from '../../lambda/config-table/items/key-ring'
import { RANDOM_BYTES, SIGNING_RING, signedKey, signingKeyId } from '../../lambda/config-table/items/signing-keys'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { runs } from '../runs'
import { FRONTS, SignedKeysWorld } from './signed-keys-world'

const MINUTE = 60_000
/** Look-ups of unknown keys that an address has in a minute, by default. */
const BUDGET = 30

const ringKey = (activeFrom = 0): RingKey => ({ secret: randomBytes(32), activeFrom })
const [SIGNER, OTHER, STRANGER] = [ringKey(), ringKey(1), ringKey()]
const made = (by = SIGNER) => signedKey(by, randomBytes(RANDOM_BYTES))
const forged = () => made().slice(0, -20) + made().slice(-20)

/** What attackers send, each time another. */
const MADE_UP: Readonly<Record<string, () => string>> = {
  'of the old form': () => `slc_${randomBytes(32).toString('base64url')}`,
  'with a wrong MAC': forged,
  'of another deployment': () => made(STRANGER),
  'of an unknown signing key': () => made().replace(signingKeyId(SIGNER), randomBytes(5).toString('hex')),
  'cut short': () => made().slice(0, -1),
  'too long': () => made() + 'A'.repeat(513),
  'twice in one header': () => `${made()}, ${made()}`,
  'in Unicode': () => `slcs_${signingKeyId(SIGNER)}_${'é'.repeat(22)}${randomBytes(15).toString('base64url')}`,
  'signed and deleted': made,
  empty: () => ' ',
}

let world: SignedKeysWorld
beforeEach(() => {
  world = new SignedKeysWorld()
  world.setRing(HMAC_RING, [ringKey()])
  world.setRing(SIGNING_RING, [SIGNER, OTHER])
})

describe.each(FRONTS)('a key that Sluice has made, at a front of the kind %s', (front) => {
  it('is known at an instance that has not seen it, whatever anybody sends before', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...Object.keys(MADE_UP)), fc.nat({ max: 100 })), { maxLength: 5 }),
        fc.constantFrom(SIGNER, OTHER),
        async (attacks, by) => {
          const apiKey = made(by)
          world.setClient(apiKey)
          const ask = world.instance()
          const answers = new Set<string>()
          for (const [kind, count] of attacks)
            for (let i = 0; i < count; i++) answers.add(await ask(front, MADE_UP[kind]!()))
          expect([answers.has('ok'), answers.has('exempt')]).toEqual([false, false])
          expect(await ask(front, apiKey)).toBe('ok')
          expect(await ask(front, `  ${apiKey}\t`)).toBe('ok')
        },
      ),
      { numRuns: runs(20, 300) },
    )
  })

  it('is one of a kind: a key of the old form shares the look-ups with all that is made up', async () => {
    const brought = 'key of a customer since long ago'
    world.setClient(brought)
    const [ask, quiet] = [world.instance(), world.instance()]
    expect(await quiet(front, brought)).toBe('ok')
    for (let i = 0; i <= BUDGET; i++) await ask(front, `made up ${i}`)
    expect(await ask(front, brought)).toBe('unavailable')
    world.clock.now += MINUTE
    expect(await ask(front, brought)).toBe('ok')
  })

  it('costs no look-up where its MAC is wrong, and nothing of those that unknown keys have', async () => {
    const ask = world.instance()
    for (let i = 0; i < 500; i++) expect(await ask(front, forged())).toBe('unauthorized')
    expect(world.lookUps).toEqual([])
    for (let i = 0; i < 500; i++) await ask(front, `made up ${i}`)
    expect(world.lookUps).toHaveLength(BUDGET + 1)
  })

  it('is answered alike where it is unknown, forged, or nobody’s any more', async () => {
    const ask = world.instance()
    for (const key of ['made up', forged(), made()]) expect(await ask(front, key)).toBe('unauthorized')
    expect(new Set(world.answers).size).toBe(1)
  })

  it('is refused when its client is disabled or has expired, whatever anybody sends before', async () => {
    const [disabled, expired] = [made(), made()]
    world.setClient(disabled, { id: 'acme', tier: 'free', disabled: true })
    world.setClient(expired, { id: 'acme', tier: 'free', expiresAt: '2020-01-01' })
    const ask = world.instance()
    for (let i = 0; i < 100; i++) await ask(front, `made up ${i}`)
    expect([await ask(front, disabled), await ask(front, expired)]).toEqual(['unauthorized', 'unauthorized'])
  })

  it('is remembered as unknown once it is deleted, and known again once it is imported again', async () => {
    const apiKey = made()
    const ask = world.instance()
    for (let i = 0; i < 200; i++) expect(await ask(front, apiKey)).toBe('unauthorized')
    expect(world.lookUps).toHaveLength(1)
    world.setClient(apiKey)
    world.clock.now += 30_000
    expect(await ask(front, apiKey)).toBe('ok')
    world.deleteClient(apiKey)
    world.clock.now += 30_000
    expect(await ask(front, apiKey)).toBe('unauthorized')
  })
})

describe('a key that Sluice has made, while secrets change', () => {
  const exhausted = async (ask: ReturnType<SignedKeysWorld['instance']>) => {
    for (let i = 0; i <= BUDGET; i++) await ask('rest', `made up ${i}`)
  }

  it('is known whatever secret the hashes have', async () => {
    const apiKey = made()
    world.setClient(apiKey)
    const running = world.instance()
    await exhausted(running)
    world.setRing(HMAC_RING, [ringKey(), ringKey(world.clock.now + 1)])
    world.clock.now += MINUTE
    for (const ask of [running, world.instance()]) {
      await exhausted(ask)
      expect(await ask('rest', apiKey)).toBe('ok')
    }
  })

  it('is known while its signing key is in the ring, before that is active and long after', async () => {
    const coming = ringKey(world.clock.now + 60 * MINUTE)
    world.setRing(SIGNING_RING, [SIGNER, OTHER, coming])
    const ask = world.instance()
    for (const by of [SIGNER, OTHER, coming]) {
      const apiKey = made(by)
      world.setClient(apiKey)
      await exhausted(ask)
      expect(await ask('rest', apiKey)).toBe('ok')
    }
  })

  it('is looked up as any other by an instance that has not read its signing key yet, and for itself a minute later', async () => {
    const ask = world.instance()
    await ask('rest')
    const fresh = ringKey(world.clock.now)
    world.setRing(SIGNING_RING, [SIGNER, OTHER, fresh])
    const [early, late] = [made(fresh), made(fresh)]
    for (const one of [early, late]) world.setClient(one)
    expect(await ask('rest', early)).toBe('ok')
    await exhausted(ask)
    expect(await ask('rest', late)).toBe('unavailable')
    world.clock.now += MINUTE
    await ask('rest') // begins the reading, and does not wait for it
    await exhausted(ask)
    expect(await ask('rest', late)).toBe('ok')
  })

  it('is looked up as any other once its signing key is removed: nobody’s key dies of it', async () => {
    const apiKey = made(SIGNER)
    world.setClient(apiKey)
    world.setRing(SIGNING_RING, [OTHER])
    const ask = world.instance()
    expect(await ask('rest', apiKey)).toBe('ok')
  })

  it('is looked up as any other while the ring is missing, invalid or cannot be read', async () => {
    for (const keys of [[], [SIGNER]]) {
      const apiKey = made()
      world = new SignedKeysWorld()
      world.setClient(apiKey)
      if (keys.length > 0) world.setRing(SIGNING_RING, [...keys, ...keys]) // of which one is not later than the other
      expect(await world.instance()('rest', apiKey)).toBe('ok')
    }
  })

  it('stays known while the config table is away, and one that is not known yet cannot be verified', async () => {
    const [known, other] = [made(), made()]
    for (const one of [known, other]) world.setClient(one)
    const ask = world.instance()
    await ask('rest', known)
    world.isAway = true
    world.clock.now += 10 * MINUTE
    expect(await ask('rest', known)).toBe('ok')
    expect(await ask('rest', other)).toBe('unverified')
    expect(await ask('rest', forged())).toBe('unauthorized')
  })

  it('is in no line of the log, and neither is a secret', async () => {
    const apiKey = made()
    world.setClient(apiKey, { id: 7 })
    const ask = world.instance()
    await ask('rest', apiKey)
    await ask('rest', forged())
    const text = JSON.stringify(world.log.entries)
    expect(text).toContain('client_invalid')
    expect(text).not.toContain(apiKey.slice(0, 20))
    expect(text).not.toContain(Buffer.from(SIGNER.secret).toString('base64').slice(0, 8))
  })
})
