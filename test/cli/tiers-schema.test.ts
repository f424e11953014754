import { readFileSync } from 'node:fs'
import path from 'node:path'
import Ajv from 'ajv'
import { parse } from 'yaml'
import { tiersSchema } from '../../cli/tiers/tiers-schema'

const read = (file: string) => readFileSync(path.join(__dirname, '../..', file), 'utf8')
const validate = new Ajv({ strict: false, allErrors: true }).compile(tiersSchema())
const errorsOf = (file: unknown) => {
  validate(file)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
const anonymous = { by: 'ip', policies: [{ name: 'per-minute', limit: 20, window: '1m' }] }

describe('the JSON Schema of tiers.yaml', () => {
  it('in the repository is up to date (npx sluice tiers schema > tiers.schema.json)', () => {
    expect(JSON.parse(read('tiers.schema.json'))).toEqual(JSON.parse(JSON.stringify(tiersSchema())))
  })

  it('is named in the first line of the file, where editors look', () => {
    expect(read('tiers.yaml').split('\n')[0]).toBe('# yaml-language-server: $schema=./tiers.schema.json')
  })

  it('accepts the repository’s tiers.yaml', () => expect(errorsOf(parse(read('tiers.yaml')))).toEqual([]))

  it('accepts every valid file', () => {
    const file = {
      settings: {
        defaultTier: 'anonymous',
        trustedHeaders: ['x-tenant'],
        identity: [
          'api-key',
          { source: 'header', name: 'x-user', trusted: true },
          { source: 'jwt', issuer: 'https://a.example', audience: 'b' },
          'ip',
        ],
      },
      'settings @dev': { apis: ['*/dev'], mode: 'observe' },
      tiers: { anonymous: { ...anonymous, credentials: 'required' }, 'free @shop': { apis: ['shop'], policies: [] } },
      routes: {
        'GET /b @shop': { apis: ['shop', 'cart/prod'] },
        'GET /a': { cost: 0, by: ['client', 'route'], policies: [] },
      },
      global: {
        policies: [
          {
            name: 'all',
            limit: 9,
            window: 'month',
            algorithm: 'fixed-window',
            timezone: 'UTC',
            overage: 'allow',
            by: 'global',
          },
        ],
      },
    }
    expect(errorsOf(file)).toEqual([])
  })

  it.each([
    [{}, " must have required property 'tiers'"],
    [{ tiers: {} }, "/tiers must have required property 'anonymous'"],
    [
      { tiers: { anonymous }, 'settings @dev': { apis: [], mode: 'off' } },
      '/settings @dev/apis must NOT have fewer than 1 items',
    ],
    [{ tiers: { anonymous }, 'settings @dev': { apis: ['a'] } }, "/settings @dev must have required property 'mode'"],
    [{ tiers: { anonymous }, teirs: {} }, ' must NOT have additional properties'],
    [
      { tiers: { anonymous: { policies: [{ name: 'a', limit: 0, window: '1m' }] } } },
      '/tiers/anonymous/policies/0/limit must be >= 1',
    ],
    [
      { tiers: { anonymous: { policies: [{ name: 'a', limit: 1 }] } } },
      "/tiers/anonymous/policies/0 must have required property 'window'",
    ],
    [
      {
        tiers: { anonymous },
        routes: { 'GET /a': { policies: [{ name: 'a', limit: 1, window: '1m', algorithm: 'leaky' }] } },
      },
      '/routes/GET ~1a/policies/0/algorithm must be equal to one of the allowed values',
    ],
    [{ tiers: { anonymous }, settings: { identity: ['header'] } }, '/settings/identity/0 must match a schema in anyOf'],
  ])('rejects %j', (file, error) => expect(errorsOf(file)).toContain(error))
})
