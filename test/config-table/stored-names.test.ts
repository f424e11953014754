import { withPresentNames, withStoredNames } from '../../lambda/config-table/items/stored-names'
import { TIER_FIELDS } from '../../lambda/config-table/items/tiers'

const PRESENT = { credentials: 'required', failureMode: 'deny' }
const STORED = { credentials: 'required', onStoreError: 'deny' }

test('a field has its former name in the table, and its present one everywhere else', () => {
  expect(withStoredNames(TIER_FIELDS, PRESENT)).toEqual(STORED)
  expect(withPresentNames(TIER_FIELDS, STORED)).toEqual(PRESENT)
})

test('an item that has its names already is the same', () => {
  expect(withStoredNames(TIER_FIELDS, STORED)).toBe(STORED)
  expect(withPresentNames(TIER_FIELDS, PRESENT)).toBe(PRESENT)
})

test('an item with both names keeps both, so that they are found to be a mistake', () => {
  const both = { ...STORED, failureMode: 'allow' }
  expect(withPresentNames(TIER_FIELDS, both)).toBe(both)
  expect(withStoredNames(TIER_FIELDS, both)).toBe(both)
})

test.each([undefined, null, 7, 'onStoreError'])('what is no object stays what it is: %j', (item) => {
  expect(withPresentNames(TIER_FIELDS, item)).toBe(item)
  expect(withStoredNames(TIER_FIELDS, item)).toBe(item)
})
