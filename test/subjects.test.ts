import { type SubjectInputs, subjectOf } from '../lambda/subjects'

const ASKING: SubjectInputs = {
  caller: 'client:acme',
  user: 'user:42',
  address: 'ip:203.0.113.7',
  headers: new Map([['x-tenant', 'north']]),
  claims: { org: 'acme', seats: 7, admin: true, 'https://example.com/org': 'url', list: ['a'], in: { org: 'x' } },
  namespace: '',
}

test.each([
  [['client'], 'client:acme'],
  [['user'], 'user:42'],
  [['ip'], 'ip:203.0.113.7'],
  [['global'], 'global'],
  [[], 'route:GET /search'],
  [['header:x-tenant'], 'header:x-tenant=north'],
  [['claim:org'], 'claim:org=acme'],
  [['claim:seats'], 'claim:seats=7'],
  [['claim:admin'], 'claim:admin=true'],
  [['claim:https://example.com/org'], 'claim:https://example.com/org=url'],
  [['client', 'ip'], 'several:["client:acme","ip:203.0.113.7"]'],
  [['header:x-tenant', 'user'], 'several:["header:x-tenant=north","user:42"]'],
] as const)('%j counts %s', (who, subject) => expect(subjectOf(who, ASKING, 'GET /search')).toBe(subject))

test.each([
  ['header:x-device'],
  ['claim:sub'],
  ['claim:list'],
  ['claim:Org'],
  ['claim:in.org'],
  ['claim:constructor'],
  ['claim:__proto__'],
] as const)('a request without %s is counted by its address', (dimension) => {
  expect(subjectOf([dimension], ASKING)).toBe('ip:203.0.113.7')
  expect(subjectOf([dimension, 'ip'], ASKING)).toBe('ip:203.0.113.7')
})

test('a stranger is one subject, however many ways there are to say so', () => {
  const stranger = { ...ASKING, caller: ASKING.address, user: ASKING.address, claims: {} }
  for (const who of [['client'], ['user'], ['client', 'user'], ['claim:org', 'client', 'ip']] as const) {
    expect(subjectOf(who, stranger)).toBe('ip:203.0.113.7')
  }
})

test('a route that is not configured is one of all the others', () => expect(subjectOf([], ASKING)).toBe('route:*'))

test('no values can be spelled so that two subjects become one', () => {
  const one = subjectOf(['claim:a', 'claim:b'], { ...ASKING, claims: { a: 'x","claim:b=y', b: 'z' } })
  const other = subjectOf(['claim:a', 'claim:b'], { ...ASKING, claims: { a: 'x', b: 'y","z' } })
  expect(one).not.toBe(other)
})

test('a value of any length makes a bounded subject', () => {
  expect(
    subjectOf(['header:x-tenant'], { ...ASKING, headers: new Map([['x-tenant', 'n'.repeat(9000)]]) }),
  ).toHaveLength(16 + 512)
})
