import { tierKey } from '../lambda/config-table/items/config-keys'
import { ANONYMOUS } from '../lambda/config-table/items/tiers'
import type { Change } from './tiers-file'

/** An item is added before items that refer to it, and deleted after them. */
const RANKS = [
  'add tier',
  'change tier',
  'add route',
  'change route',
  'add global',
  'change global',
  'add settings',
  'change settings',
]
const LAST_RANKS = ['remove settings', 'remove global', 'remove route', 'remove tier']

/** Changes in the order in which they are written if they do not fit one transaction. */
export const inWritingOrder = (changes: readonly Change[]): Change[] =>
  [...changes].sort((a, b) => rank(a) - rank(b) || (a.sk < b.sk ? -1 : 1))

function rank({ kind, sk }: Change): number {
  if (kind === 'add' && sk === tierKey(ANONYMOUS).sk) return -1 // without it no set is valid
  const name = `${kind} ${sk.split(/#| @/, 1)[0]}`
  const last = LAST_RANKS.indexOf(name)
  return last < 0 ? RANKS.indexOf(name) : RANKS.length + last
}
