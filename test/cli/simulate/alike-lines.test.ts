import fc from 'fast-check'
import { AlikeLines } from '../../../cli/simulate/lines/alike-lines'
import { FieldMap, type MappedName } from '../../../cli/simulate/lines/field-map'
import { jsonLine } from '../../../cli/simulate/lines/json-line'
import { type Parse, requestMaker } from '../../../cli/simulate/lines/to-request'

const LINE = {
  time: '1800000000000',
  requestId: '0f0e0d0c-0b0a-4908-8706',
  method: 'GET',
  path: '/prod/things/7',
  ip: '198.51.100.7',
  subject: 'client:acme',
  tier: 'free',
  cost: '1',
  reason: 'ok',
}
const MAP = new FieldMap(new Map<MappedName, string>([['header:x-tenant', 'a.b']]))

const reader = (): Parse => jsonLine(requestMaker(MAP, ['tokens']))

/** A reader that has seen lines like this one. */
function warm(line: object): Parse {
  const parse = reader()
  for (let i = 0; i < 20; i++) parse(JSON.stringify(line))
  return parse
}

/** Ways in which a line may differ from those before it. */
const change = fc.oneof(
  fc.tuple(fc.constantFrom(...Object.keys(LINE)), fc.string({ unit: 'binary' })).map(
    ([name, value]) =>
      (text: string) =>
        JSON.stringify({ ...JSON.parse(text), [name]: value }),
  ),
  fc
    .tuple(
      fc.constantFrom('n', 'time', 'path', 'message', '@message', 'searchedCompletely', '__proto__', 'a.b', 'a'),
      fc.jsonValue(),
    )
    .map(
      ([name, value]) =>
        (text: string) =>
          `{"${name}":${JSON.stringify(value)},${text.slice(1)}`,
    ),
  fc
    .tuple(
      fc.nat(400),
      fc.constantFrom('"', '\\', '\\"', '\\u0041', '\t', '\u0000', '\u007f', '\u2028', '{', '}', ',', ' ', ':'),
    )
    .map(
      ([at, what]) =>
        (text: string) =>
          text.slice(0, at % text.length) + what + text.slice(at % text.length),
    ),
  fc.tuple(fc.nat(400), fc.nat(30)).map(
    ([at, count]) =>
      (text: string) =>
        text.slice(0, at) + text.slice(at + count),
  ),
  fc.constantFrom(
    (text: string) => `${text} `,
    (text: string) => text + text,
    (text: string) => `[${text}]`,
    (text: string) => text.replace('","', '", "'),
    (text: string) => text.replace('"free"', 'null').replace('"1"', '1'),
    (text: string) => text.replace('"free"', '{"a":"b"}'),
    (text: string) => text.replace('"tier"', '"ti\\u0065r"'),
  ),
)

describe('lines alike', () => {
  it('are read as any other reader of JSON reads them, whatever somebody wrote into one', () => {
    const warmed = warm(LINE)
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
        let text = JSON.stringify(LINE)
        try {
          for (const one of changes) text = one(text)
        } catch {
          return // changed until it is no JSON
        }
        expect(warmed(text)).toEqual(reader()(text))
        expect(warmed(JSON.stringify(LINE))).toEqual(reader()(JSON.stringify(LINE)))
      }),
      { numRuns: 1000 },
    )
  })

  it('are read whatever their names are', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 8 }), { maxLength: 6 }), (names) => {
        const line = { ...LINE, ...Object.fromEntries(names.map((name, i) => [name, `${i}.*"`.slice(0, 2)])) }
        const text = JSON.stringify(line)
        expect(warm(line)(text)).toEqual(reader()(text))
      }),
      { numRuns: 100 },
    )
  })

  it('are learned once, and anew only when no more of them come', () => {
    const alike = new AlikeLines()
    const [one, other] = [JSON.stringify(LINE), JSON.stringify({ at: '1', tier: 'pro' })]
    const read = (text: string) => {
      const isAlike = alike.read(text)
      if (!isAlike) alike.learn(JSON.parse(text))
      return isAlike
    }
    expect(read(one)).toBe(false)
    expect(read(one)).toBe(true)
    expect(alike.value('tier')).toBe('free')
    expect(alike.value('none')).toBeUndefined()
    const often = Array.from({ length: 40 }, (_, i) => read(i % 2 ? one : other))
    expect(often.filter(Boolean)).toHaveLength(20)
    const then = Array.from({ length: 40 }, () => read(other))
    expect(then.indexOf(true)).toBe(16)
    expect(alike.value('tier')).toBe('pro')
  })

  it('take no longer for a long value that never ends', () => {
    const warmed = warm(LINE)
    const text = JSON.stringify({ ...LINE, path: 'x'.repeat(250_000) })
    expect(warmed(text)).toEqual(reader()(text))
    expect(warmed(text.slice(0, -30))).toBe('it is not valid JSON')
  })
})
