import { parseAccess } from '../../lambda/config-table/items/access-list'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import type { PolicySet } from '../../lambda/config-table/items/policy-set'
import { type Api, Apis } from '../../lambda/config-table/items/scopes'
import type { AuthorizerAnswer } from '../../lambda/responses/answers'
import { Gateway } from '../authorize/gateway'
import type { Attack } from './attack'
import { ATTACKS } from './attacks'
import { addressOf, BLOCK, eventOf } from './events-of'
import { RULES } from './rules'

/** By these errors a REST API answers 401, and 500 to who cannot be verified. */
const REFUSALS = ['Unauthorized', 'callers cannot be verified at the moment']

const hasPassed = (answer: AuthorizerAnswer): boolean =>
  'isAuthorized' in answer ? answer.isAuthorized : answer.policyDocument.Statement[0]!.Effect === 'Allow'

/** A tiers file, beside what the config table calls APIs. */
function setOf(rules: object, apis: readonly Api[] = []): PolicySet {
  const set = parseTiersFile(rules, 'f')
  const known = new Apis(apis)
  return { ...set, apis: known, ...(set.scoped && { scoped: { ...set.scoped, apis: known } }) }
}

/** How many requests of an attack the authorizer lets pass, or what else the attack counts. */
async function passed(attack: Attack, place: number): Promise<number> {
  const { times = 30, rules = RULES, apis } = attack
  const { parts, counted } = attack.world?.() ?? {}
  const gateway = new Gateway({ set: setOf(rules, apis), access: [parseAccess('block', BLOCK, {}, [], [])!], ...parts })
  let count = 0
  for (let n = 0; n < times; n++) {
    gateway.clock.now += attack.everyMs ?? 0
    const answer = await gateway.authorize(eventOf(attack, place, n)).catch((error: Error) => {
      if (!REFUSALS.includes(error.message)) throw error
    })
    if (answer && hasPassed(answer)) count++
  }
  if (!parts) expect(gateway.entries).toEqual([]) // nothing went wrong inside
  return counted?.() ?? count
}

describe('an attack on the authorizer', () => {
  it.each(
    ATTACKS.map(
      (attack, place) => [`${attack.about}: ${attack.tried} (${attack.api ?? 'rest'})`, attack, place] as const,
    ),
  )('%s', async (_, attack, place) => {
    expect(await passed(attack, place)).toBe(attack.passes)
  })

  it('comes from an address of its own, and is told apart by what it says', () => {
    const places = ATTACKS.map((attack, place) => addressOf(attack, place)).filter(
      (address) => address !== BLOCK.slice(3),
    )
    expect(new Set(places).size).toBe(places.length)
    const titles = ATTACKS.map(({ about, tried, api }) => `${about} ${tried} ${api}`)
    expect(new Set(titles).size).toBe(titles.length)
  })
})
