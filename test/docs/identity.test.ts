import { parse } from 'yaml'
import { toCountedBy } from '../../lambda/config-table/items/counted-by'
import { SOURCE_FIELDS } from '../../lambda/config-table/items/identity-settings'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import type { PolicySet } from '../../lambda/config-table/items/policy-set'
import { DEFAULT_SETTINGS } from '../../lambda/config-table/items/settings'
import { examplesIn, explains, pageOf } from './examples'

const PAGE = pageOf('identity.md')
const EXAMPLES = examplesIn(PAGE, 'yaml').map(
  (text) => [text.trim().split('\n').slice(0, 6).join(' ').replace(/\s+/g, ' '), text] as const,
)

/** What a file must have, for examples that are about settings alone. */
const TIERS = { anonymous: { by: 'ip', policies: [] } }

const setOf = (text: string): PolicySet => parseTiersFile({ tiers: TIERS, ...parse(text) }, 'identity.md')

describe('docs/identity.md', () => {
  it.each(EXAMPLES)('has an example that is right: %s', (_, text) => {
    expect(parse(text)).toHaveProperty('settings.identity')
    expect(setOf(text).settings.identity.at(-1)!.source).toBe('ip')
  })

  it('begins with what holds without settings', () => {
    expect(setOf(EXAMPLES[0]![1]).settings).toEqual({ ...DEFAULT_SETTINGS, defaultTier: undefined })
  })

  it('has an example of every source and of every field that one can have, and explains each', () => {
    const given = EXAMPLES.flatMap(([, text]) => parse(text).settings.identity as (string | Record<string, unknown>)[])
    for (const [source, fields] of Object.entries(SOURCE_FIELDS)) {
      const ofSource = given.filter((one) => one === source || (one as { source?: string }).source === source)
      expect(ofSource).not.toHaveLength(0)
      expect(explains(PAGE, source)).toBe(true)
      expect(Object.keys(fields).filter((field) => field !== 'source' && !explains(PAGE, field))).toEqual([])
    }
    const written = new Set(given.flatMap((one) => (typeof one === 'string' ? [] : Object.keys(one))))
    expect([...written].sort()).toEqual(
      [...new Set(Object.values(SOURCE_FIELDS).flatMap((fields) => Object.keys(fields)))].sort(),
    )
  })

  it('has settings for Cognito, Auth0, Okta and Entra ID that end in their key sets', () => {
    const jwts = EXAMPLES.flatMap(([, text]) => setOf(text).settings.identity).flatMap((one) =>
      one.source === 'jwt' ? one.jwksUri : [],
    )
    expect(jwts).toEqual(
      expect.arrayContaining([
        'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab1Cd2Ef3/.well-known/jwks.json',
        'https://example.eu.auth0.com/.well-known/jwks.json',
        'https://example.okta.com/oauth2/default/v1/keys',
        'https://login.microsoftonline.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/discovery/v2.0/keys',
      ]),
    )
  })

  it('has every word of `by`, in a table and in an example', () => {
    const [, text] = EXAMPLES.find(([, one]) => one.includes('by: [user, ip]'))!
    const { tiers, routes, global } = setOf(text)
    const policies = [...[...tiers.values(), ...routes].flatMap((one) => one.policies), ...global]
    const words = policies.flatMap(({ by: { who, perRoute } }) => [
      ...who.map((word) => word.split(':')[0]!),
      ...(perRoute ? ['route'] : []),
    ])
    expect([...new Set(words)].sort()).toEqual(['claim', 'client', 'global', 'header', 'ip', 'route', 'user'])
    for (const word of ['client', 'user', 'ip', 'route', 'global', 'header:<name>', 'claim:<name>']) {
      expect(explains(PAGE, word)).toBe(true)
      expect(toCountedBy(word.replace('<name>', 'x'))).toBeDefined()
    }
  })
})
