import { parseJwtSettings } from '../../lambda/config-table/items/jwt-settings'
import { lazyVerifiers } from '../../lambda/identity/load-verifier'
import { type KeyServer, keyServer, pair, token } from './issuer'

const key = pair('k')
const NOW = Date.parse('2026-03-01T12:00:00Z')
let server: KeyServer

beforeEach(async () => {
  server = await keyServer([key])
})
afterEach(() => server.close())

const settings = (audience: string) =>
  parseJwtSettings({ source: 'jwt', issuer: 'https://issuer.example', audience, jwksUri: server.url }, [], [])!

it('makes a verifier for any settings, by the clock that it was given, and all of them share the keys', async () => {
  const verifierFor = lazyVerifiers(() => NOW)
  const signed = token({ iss: 'https://issuer.example', aud: 'api', exp: NOW / 1000 }, key)
  expect((await verifierFor(settings('api')).verify(signed, 5000)).kind).toBe('valid')
  expect((await verifierFor(settings('api')).verify(signed, 5000)).kind).toBe('valid')
  expect(await verifierFor(settings('web')).verify(signed, 5000)).toEqual({ kind: 'invalid', why: 'audience' })
  expect(server.asked).toBe(1)
})

it('never throws: a fault of the verifier makes a token neither valid nor invalid', async () => {
  const verifier = lazyVerifiers(() => {
    throw new Error('no time')
  })(settings('api'))
  expect(await verifier.verify(token({}, key), 5000)).toEqual({ kind: 'unavailable', cause: new Error('no time') })
})
