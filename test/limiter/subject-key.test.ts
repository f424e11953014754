import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { createLimiter, MemoryStore } from '../../limiter'
import { SubjectError } from '../../limiter/errors'
import { subjectKey, withSecret } from '../../limiter/subject-key'
import { codePoint } from '../code-point'
import { issuesOf } from '../policies/issues'

describe('a subject’s key', () => {
  it('begins with its scope, so that people can read a table', () => {
    expect(subjectKey('client:abc')).toMatch(/^client#[\w-]{43}$/)
    expect(subjectKey('ip:2001:db8::/56')).toMatch(/^ip#/)
    for (const subject of ['abc', ':abc', 'UPPER:abc', '1x:abc', `${'x'.repeat(17)}:abc`])
      expect(subjectKey(subject)).toMatch(/^subject#/)
  })

  it('does not show the identity', () => expect(subjectKey('client:secret-key')).not.toContain('secret'))

  it('has a bounded length, is ASCII, and differs for every subject', () => {
    const seen = new Map<string, string>()
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 300, unit: codePoint }), (subject) => {
        const key = subjectKey(subject)
        expect(key).toMatch(/^[a-z0-9-]{1,16}#[\w-]{43}$/)
        expect(seen.get(key) ?? subject).toBe(subject)
        seen.set(key, subject)
      }),
    )
  })
})

it('an invalid subject has no key', () => {
  for (const subject of ['', undefined, null, 7, ['client:abc']])
    expect(() => subjectKey(subject as never)).toThrow(SubjectError)
  expect(subjectKey(' ')).toMatch(/^subject#/)
})

describe('a subject’s key under a secret', () => {
  const secret = Buffer.from('sixteen or more bytes')
  const hashed = createHash('sha256').update('ip:192.0.2.1').digest('base64url')

  it('is the HMAC of the key without it, so that items can be moved without knowing their subjects', () => {
    expect(subjectKey('ip:192.0.2.1')).toBe(`ip#${hashed}`)
    const wanted = `ip~${createHmac('sha256', secret).update(`ip#${hashed}`).digest('base64url')}`
    expect(subjectKey('ip:192.0.2.1', secret)).toBe(wanted)
    expect(withSecret(`ip#${hashed}`, secret)).toBe(wanted)
  })

  it('does not exist for what is not a key', () => {
    const long = 'x'.repeat(17)
    for (const key of [
      '',
      'ip',
      `ip~${hashed}`,
      `#${hashed}`,
      `IP#${hashed}`,
      `${long}#${hashed}`,
      `ip#${hashed}=`,
      `ip#${hashed.slice(1)}`,
    ]) {
      expect(withSecret(key, secret)).toBeUndefined()
    }
  })
})

describe('a limiter with a secret', () => {
  const policies = [{ name: 'p', limit: 2, window: '1h' }]
  const SECRET = 'sixteen or more bytes'

  it('keeps all state of a subject under the key by that secret', async () => {
    const store = new MemoryStore()
    const limiter = createLimiter({ store, policies, hmacKey: SECRET })
    const { chargedAt } = await limiter.take('client:abc', { cost: 2 })
    expect((await store.read(subjectKey('client:abc', Buffer.from(SECRET)))).policies).not.toEqual({})
    expect((await store.read(subjectKey('client:abc'))).policies).toEqual({})
    await limiter.refund('client:abc', 1, { chargedAt })
    expect((await limiter.peek('client:abc')).allowed).toBe(true)
    await limiter.take('client:abc')
    expect((await limiter.takeAll([{ subject: 'client:abc' }])).allowed).toBe(false)
    await limiter.reset('client:abc')
    expect((await limiter.take('client:abc', { cost: 2 })).allowed).toBe(true)
  })

  it('shares counts with limiters that have the same secret in whatever form, and with no others', async () => {
    const store = new MemoryStore()
    const one = createLimiter({ store, policies, hmacKey: SECRET })
    const other = createLimiter({ store, policies, hmacKey: new TextEncoder().encode(SECRET) })
    const without = createLimiter({ store, policies })
    await one.take('client:abc', { cost: 2 })
    expect((await other.take('client:abc')).allowed).toBe(false)
    expect((await without.take('client:abc')).allowed).toBe(true)
  })

  it('accepts one of just sixteen bytes', () => {
    for (const hmacKey of ['x'.repeat(16), 'é'.repeat(8), new Uint8Array(16)]) {
      expect(() => createLimiter({ store: new MemoryStore(), policies, hmacKey })).not.toThrow()
    }
  })

  it('keeps a copy of the secret, so that clearing the bytes changes nothing', async () => {
    const hmacKey = new TextEncoder().encode(SECRET)
    const limiter = createLimiter({ store: new MemoryStore(), policies, hmacKey })
    await limiter.take('client:abc', { cost: 2 })
    hmacKey.fill(0)
    expect((await limiter.peek('client:abc')).remaining).toBe(0)
  })

  it.each<[unknown, string]>([
    ['too short a key', 'got 15 bytes'],
    [new Uint8Array(15), 'got 15 bytes'],
    [null, 'got a value of type object'],
    [1234567890123456, 'got a value of type number'],
  ])('rejects %p without printing any of it', (hmacKey, got) => {
    const sentence = `hmacKey must be a string or a Uint8Array of at least 16 bytes, ${got}`
    expect(issuesOf(() => createLimiter({ store: new MemoryStore(), policies, hmacKey: hmacKey as never }))).toEqual([
      sentence,
    ])
  })
})
