import fc from 'fast-check'
import { httpEvent, KEYS, restEvent } from './gateway'

/** Every key of the context must be there, and flat, whatever came in. */
export function expectAnswer(answer: unknown): void {
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
  expect(told).toEqual({ keys: 20, flat: true, ruled: true, short: true })
}

/** Nothing like an event. */
export const garbage = fc.oneof(
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
export const mangled: fc.Arbitrary<unknown> = fc
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
