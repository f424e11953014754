import type { Client } from '../../lambda/config-table/items/client-item'
import { hashApiKey } from '../../lambda/identity/api-key'
import type { PolicyAnswer } from '../../lambda/responses/answers'
import type { Check } from '../../lambda/upstream/check'
import { Gateway, httpEvent, KEYS, type Request, restEvent, times } from './gateway'

const METERED = 'a key of API Gateway, 0123456789'
const KEY = { key: KEYS.free }

/** A gateway whose client names the key to which usage plans count it. */
function metered(
  usageIdentifierKey: Client['usageIdentifierKey'],
  parts: ConstructorParameters<typeof Gateway>[0] = {},
) {
  const client: Client = { id: 'acme', tier: 'free', overrides: {}, disabled: false, usageIdentifierKey }
  const find = async (credential: string) => (credential === hashApiKey(KEYS.free) ? client : undefined)
  const gateway = new Gateway({ clients: { find }, ...parts })
  const keyOf = async (request: Request) =>
    ((await gateway.authorize(restEvent(request))) as PolicyAnswer).usageIdentifierKey
  return { gateway, keyOf }
}

describe('the API Gateway key of a client', () => {
  it('is returned for what it is allowed, and for nobody else', async () => {
    const { keyOf } = metered(METERED)
    expect(await keyOf(KEY)).toBe(METERED)
    expect(await keyOf({ key: 'unknown' })).toBeUndefined()
    expect(await keyOf({})).toBeUndefined()
  })

  it('is the key that the request shows, where the record has none of its own', async () => {
    const { keyOf } = metered(true)
    expect(await keyOf({ key: ` ${KEYS.free} `, headers: { 'X-Other': 'other' } })).toBe(KEYS.free)
  })

  it('is not returned with a denial, so that a usage plan does not count it', async () => {
    const { gateway, keyOf } = metered(METERED)
    const allowed = await gateway.allowed(times(100, KEY))
    expect(allowed).toBeLessThan(100)
    expect(await keyOf(KEY)).toBeUndefined()
  })

  it('wins over that of an upstream authorizer, which counts everybody without one', async () => {
    const theirs: Check = { kind: 'granted', grant: { context: {}, usageIdentifierKey: 'theirs' } }
    const { keyOf } = metered(METERED, { upstream: { check: async () => theirs } })
    expect([await keyOf(KEY), await keyOf({})]).toEqual([METERED, 'theirs'])
  })

  it('is in no answer of an HTTP API, in no context and in no line of the log', async () => {
    const { gateway } = metered(METERED)
    const { context } = (await gateway.authorize(restEvent(KEY))) as PolicyAnswer
    const answers = [context, await gateway.authorize(httpEvent(KEY)), gateway.entries]
    expect(JSON.stringify(answers)).not.toContain(METERED)
  })
})
