import { apiKeySource, hashApiKey } from '../../lambda/identity/api-key'

const NOTHING = {
  query: new Map(),
  pathParameters: new Map(),
  sourceIp: undefined,
  apiKeyId: undefined,
  clientCertificate: undefined,
}
const claimOf = (name: string, value: string) =>
  apiKeySource('x-api-key').resolve({ ...NOTHING, headers: new Map([[name, value]]) })

test.each([
  ['a key', 'sk_live_123', 'sk_live_123'],
  ['spaces around a key', '  sk_live_123\t', 'sk_live_123'],
  ['nothing', '', undefined],
  ['only spaces', '   ', undefined],
  ['512 characters: just short enough', 'k'.repeat(512), 'k'.repeat(512)],
  ['513 characters: just too long', 'k'.repeat(513), undefined],
  ['512 characters with spaces around them', ` ${'k'.repeat(512)} `, 'k'.repeat(512)],
])('%s', (_, value, key) => {
  expect(claimOf('x-api-key', value)).toEqual(
    key === undefined ? { kind: 'none' } : { kind: 'claim', credential: hashApiKey(key), apiKey: key },
  )
})

test('no header, or another, no key', () => expect(claimOf('x-other', 'sk_live_123')).toEqual({ kind: 'none' }))

test('a key is hashed with SHA-256, in hexadecimal', () => {
  expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  expect(hashApiKey('ä')).toBe('33e6d73fee82904c8d7afb78de1154d1e8dc2a0edb08120e63df5b9385c2d9cc')
})
