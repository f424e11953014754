import fc from 'fast-check'
import { subjectKey } from '../../lambda/limiter/subject-key'

describe('the key of a subject', () => {
  it('begins with its scope, so that a table can be read by people', () => {
    expect(subjectKey('client:abc')).toMatch(/^client#[\w-]{43}$/)
    expect(subjectKey('ip:2001:db8::/56')).toMatch(/^ip#/)
    for (const subject of ['abc', ':abc', 'UPPER:abc', '1x:abc', `${'x'.repeat(17)}:abc`]) expect(subjectKey(subject)).toMatch(/^subject#/)
  })

  it('shows nothing of the identity', () => expect(subjectKey('client:secret-key')).not.toContain('secret'))

  it('is bounded, in ASCII, and another for every subject', () => {
    const seen = new Map<string, string>()
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 300, unit: 'binary' }), (subject) => {
        const key = subjectKey(subject)
        expect(key).toMatch(/^[a-z0-9-]{1,16}#[\w-]{43}$/)
        expect(seen.get(key) ?? subject).toBe(subject)
        seen.set(key, subject)
      }),
    )
  })
})
