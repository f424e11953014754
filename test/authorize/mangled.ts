import fc from 'fast-check'
import { codePoint } from '../code-point'
import { httpEvent, KEYS, restEvent } from './gateway'

/** Every key of the context must be there, and flat, whatever came in. */
export function expectAnswer(answer: unknown): void {
  const { context, isAuthorized, policyDocument } = answer as {
    context: Record<string, unknown>
    isAuthorized?: unknown
    policyDocument?: { Statement: { Effect: string }[] }
  }
  const values = Object.values(context)
  const flat = values.every(
    (value) => typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value),
  )
  const ruling = policyDocument ? policyDocument.Statement[0]!.Effect : isAuthorized
  const told = {
    keys: values.length - Number('costTokens' in context),
    flat,
    ruled: ['Allow', 'Deny', true, false].includes(ruling as string),
    short: JSON.stringify(answer).length < 8192,
  }
  expect(told).toEqual({ keys: 22, flat: true, ruled: true, short: true })
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

/** Names by which an object's own machinery is reached, where somebody copies by name. */
const POLLUTING = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', '__defineGetter__'] as const

/**
 * Text that is no UTF-8 once it is encoded: halves of surrogate pairs, and what decoders put in the place of bytes that
 * were none.
 */
const brokenText = fc
  .array(fc.constantFrom('\ud800', '\udfff', '\ufffd', '\u0000', '\xc3\x28', '\xed\xa0\x80', 'a', '€'), {
    maxLength: 30,
  })
  .map((parts) => parts.join(''))

/**
 * What a client can put into headers, query and path: far more of them, and far longer, than API Gateway lets through,
 * under any names.
 */
const hostileTexts = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom(...POLLUTING, 'X-Api-Key', 'authorization', 'x-user', 'User-Agent'),
        fc.string({ maxLength: 40 }),
        brokenText,
      ),
      fc.oneof(
        brokenText,
        fc.nat({ max: 200_000 }).map((length) => 'x'.repeat(length)),
        fc.string({ unit: codePoint }),
      ),
    ),
    { maxLength: 12 },
  )
  .map((pairs) => ownFields(pairs))

/** Hundreds of headers of some kilobytes. */
const manyHeaders = fc
  .tuple(fc.integer({ min: 200, max: 500 }), fc.integer({ min: 1, max: 4000 }))
  .map(([count, length]) => ownFields(Array.from({ length: count }, (_, i) => [`x-${i}`, 'y'.repeat(length)])))

/** Fields as `JSON.parse` makes them: `__proto__` is one like the others. */
const ownFields = (pairs: readonly (readonly [string, unknown])[]): Record<string, unknown> => {
  const fields = {}
  for (const [name, value] of pairs)
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
  return fields
}

/** An event whose client has sent whatever can be sent, and more. */
export const hostile: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.oneof({ weight: 9, arbitrary: hostileTexts }, { weight: 1, arbitrary: manyHeaders }),
    hostileTexts,
    hostileTexts,
    fc.boolean(),
  )
  .map(([headers, query, path, isRest]) =>
    isRest
      ? {
          ...restEvent(),
          headers,
          multiValueHeaders: ownFields(Object.entries(headers).map(([name, value]) => [name, [value, value]])),
          queryStringParameters: query,
          pathParameters: path,
        }
      : {
          ...httpEvent(),
          headers,
          queryStringParameters: query,
          pathParameters: path,
          rawPath: Object.keys(path)[0] ?? '/',
        },
  )

/** A claim inside a claim, so deep. */
export function deep(depth: number): unknown {
  let value: unknown = 'org'
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? { [POLLUTING[i % POLLUTING.length]!]: value } : [value]
  return value
}

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
