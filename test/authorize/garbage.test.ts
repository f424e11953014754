import fc from 'fast-check'
import { Gateway, httpEvent, KEYS, restEvent } from './gateway'

/** Every key of the context must be there, and flat, whatever came in. */
function expectAnswer(answer: unknown): void {
  const { context, isAuthorized, policyDocument } = answer as {
    context: Record<string, unknown>
    isAuthorized?: unknown
    policyDocument?: { Statement: { Effect: string }[] }
  }
  const values = Object.values(context)
  const flat = values.every((value) => typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value))
  const ruling = policyDocument ? policyDocument.Statement[0]!.Effect : isAuthorized
  const told = {
    keys: values.length,
    flat,
    ruled: ['Allow', 'Deny', true, false].includes(ruling as string),
    short: JSON.stringify(answer).length < 8192,
  }
  expect(told).toEqual({ keys: 17, flat: true, ruled: true, short: true })
}

const garbage = fc.oneof(
  fc.anything({ withNullPrototype: true, withMap: true, maxDepth: 2, maxKeys: 4 }),
  fc.string(),
  fc.constantFrom(
    null,
    undefined,
    '',
    0,
    [],
    {},
    '__proto__',
    'x'.repeat(50_000),
    { constructor: 1 },
    JSON.parse('{"__proto__": {"a": 1}}'),
  ),
)

/** An event with some of its parts replaced, deep inside too. */
const mangled: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.constantFrom(restEvent(), httpEvent(), restEvent({ key: KEYS.free }), httpEvent({ key: KEYS.pro })),
    fc.array(fc.tuple(fc.nat(), fc.nat(), garbage), { minLength: 1, maxLength: 4 }),
  )
  .map(([event, changes]) => {
    const copy = structuredClone(event) as Record<string, unknown>
    for (const [first, second, value] of changes) {
      const name = Object.keys(copy)[first % Object.keys(copy).length]!
      const inner = copy[name]
      if (typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0 && second % 3 !== 0) {
        const inside = inner as Record<string, unknown>
        inside[Object.keys(inside)[second % Object.keys(inside).length]!] = value
      } else copy[name] = value
    }
    return copy
  })

describe('any event is answered, and none makes the authorizer throw', () => {
  it('when it is nothing like one', async () => {
    const gateway = new Gateway()
    await fc.assert(
      fc.asyncProperty(garbage, async (event) => {
        const answer = await gateway.authorize(event)
        expectAnswer(answer)
        expect(answer.context.reason).toBe('malformed')
        expect(answer.context.allowed).toBe(false)
      }),
      { numRuns: 2000 },
    )
    expect(gateway.entries).toEqual([])
  })

  it('when it is nearly one', async () => {
    const gateway = new Gateway()
    await fc.assert(
      fc.asyncProperty(mangled, async (event) => {
        expectAnswer(await gateway.authorize(event))
      }),
      { numRuns: 2000 },
    )
    expect(gateway.entries).toEqual([])
    expect(gateway.store.size).toBeLessThanOrEqual(4) // two clients, one address, and what is none
  })

  it('with whatever method, path, key and address a client can send', async () => {
    const gateway = new Gateway()
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('/search', '/batch', `/${'a/'.repeat(4000)}`))
    await fc.assert(
      fc.asyncProperty(text, text, fc.oneof(text, fc.ipV4(), fc.ipV6()), fc.boolean(), async (path, key, ip, isRest) => {
        const request = { path: `/${path}`, key, ip }
        expectAnswer(await gateway.authorize(isRest ? restEvent(request) : httpEvent(request)))
      }),
      { numRuns: 500 },
    )
    expect(gateway.entries).toEqual([])
  })
})
