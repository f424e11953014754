import { parseTiersFile } from '../../lambda/policies/policy-set'
import type { PolicyAnswer } from '../../lambda/responses/answers'
import { policy } from '../policies/issues'
import { Gateway, KEYS, type Request, restEvent } from './gateway'

/** A request to a stage of an API. */
const to = (apiId: unknown, stage: unknown, request: Request = {}) => {
  const event = restEvent(request)
  return { ...event, requestContext: { ...(event.requestContext as object), apiId, stage } }
}

/** How many of so many requests pass. */
async function passing(gateway: Gateway, count: number, event: unknown): Promise<number> {
  let passed = 0
  for (let i = 0; i < count; i++) {
    const { policyDocument } = (await gateway.authorize(event)) as PolicyAnswer
    if (policyDocument.Statement[0].Effect === 'Allow') passed++
  }
  return passed
}

const setOf = (by: unknown, global: object[] = []) =>
  parseTiersFile(
    { tiers: { anonymous: { by, policies: [policy({ limit: 3 })] }, free: { policies: [] } }, global: { policies: global } },
    'f',
  )

describe('limits of one limiter', () => {
  it('are pooled over APIs and stages, where nothing else is said', async () => {
    const gateway = new Gateway({ set: setOf('ip') })
    expect(await passing(gateway, 3, to('shop1', 'dev'))).toBe(3)
    expect(await passing(gateway, 3, to('cart1', 'prod'))).toBe(0)
  })

  it('are each API’s own, or each stage’s, where they count by them', async () => {
    const byApi = new Gateway({ set: setOf(['ip', 'api']) })
    for (const [api, stage, count] of [
      ['shop1', 'dev', 3],
      ['shop1', 'prod', 0],
      ['cart1', '$default', 3],
    ] as const)
      expect(await passing(byApi, 5, to(api, stage))).toBe(count)
    const byStage = new Gateway({ set: setOf(['ip', 'stage']) })
    for (const [api, stage] of [
      ['shop1', 'dev'],
      ['shop1', 'prod'],
      ['cart1', '$default'],
    ] as const)
      expect(await passing(byStage, 5, to(api, stage))).toBe(3)
  })

  it('count as one what does not say its API', async () => {
    const gateway = new Gateway({ set: setOf(['ip', 'stage']) })
    expect(await passing(gateway, 3, to(undefined, 'prod'))).toBe(3)
    for (const api of ['a/b', ['shop1'], '']) expect(await passing(gateway, 1, to(api, 'prod'))).toBe(0)
  })

  it('may hold everybody at an API, or at a stage, and take units ahead', async () => {
    const set = setOf('ip', [policy({ name: 'api', by: 'api', limit: 9 }), policy({ name: 'stage', by: 'stage', limit: 5 })])
    expect(set.global.map(({ consistency }) => consistency)).toEqual(['leased', 'leased'])
    const gateway = new Gateway({ set })
    const { free: key } = KEYS
    expect(await passing(gateway, 9, to('shop1', 'dev', { key }))).toBe(5)
    expect(await passing(gateway, 9, to('shop1', 'prod', { key }))).toBe(4)
    expect(await passing(gateway, 9, to('cart1', 'prod', { key }))).toBe(5)
  })
})
