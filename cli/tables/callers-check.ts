import { isDeepStrictEqual } from 'node:util'
import type { StoredItem } from '../../provisioning/documents'
import type { PolicySetItem } from '../../provisioning/tiers-file'
import { entryOf } from '../callers/block-entries'
import { standingsIn } from '../callers/client-standing'
import { overridesOfNothing } from '../callers/overrides'
import { unreadCredentials } from '../callers/unread-credentials'
import { type CLIENT_FIELDS, parseClientItem } from '../facade/callers'
import { type Clock, type Mistake, printed } from '../facade/values'
import { counted } from '../terminal/output'
import { readPolicySet } from '../tiers/read-policy-set'
import { mistakesOf, recordName, removal, shellWord } from './broken-items'
import { type Check, checked } from './check'
import type { ConfigTable } from './config-table'

/** One thing that is wrong, and what mends it. */
interface Finding {
  readonly found: string
  readonly remedy: string
}

/** The option of `clients set` that gives a field a valid value, or takes it away. */
const MENDED_BY: Readonly<Partial<Record<keyof typeof CLIENT_FIELDS, string>>> = {
  tier: '--tier NAME',
  name: '--name ""',
  notes: '--notes ""',
  overrides: '--no-overrides',
  disabled: '--enable',
  expiresAt: '--expires never',
  usageIdentifierKey: '--usage-identifier-key none',
}

/** More findings are counted, and not told. */
const MAX_TOLD = 5

/**
 * Checks the clients: that each record is valid, its tier exists, its credential is read, its overrides override
 * something, and that the records of one client agree. Checks the lists beside them, where something is wrong there:
 * that no range is blocked and exempt at once, and that their clients exist.
 */
export async function checkCallers(table: ConfigTable, clock: Clock): Promise<Check[]> {
  let lists: Check[] = []
  const ofClients = await checked('clients', 'allow dynamodb:Scan on the config table', async () => {
    const items = (await table.policySet()).map(({ item }) => item)
    const clients = await table.clients()
    lists = checkLists(items, clients)
    const standing = standingsIn(items, clock())
    const wrong = [
      ...clients.flatMap((record) => findingOf(record) ?? []),
      ...contradictions(clients),
      ...clients.flatMap(({ item }) =>
        typeof item.tier === 'string' && standing(item).isTierGone ? withoutTier(item) : [],
      ),
    ]
    if (wrong.length > 0) return { status: 'FAILED', ...told(wrong) }
    const { policies } = readPolicySet(items).configuration
    const unread = unreadCredentials(policies.settings.identity, clients).map(
      (found): Finding => ({
        found,
        remedy: 'add the source to settings.identity (docs/identity.md), or delete these credentials',
      }),
    )
    const idle = overridesOfNothing(clients, policies, clock()).map(
      (found): Finding => ({
        found,
        remedy: 'override a policy of the tier: sluice clients set ID --no-overrides --override POLICY=LIMIT',
      }),
    )
    if (unread.length + idle.length > 0) return { status: 'warning', ...told([...unread, ...idle]) }
    return { status: 'ok', found: counted(clients.length, 'credential') }
  })
  return [ofClients, ...lists]
}

function checkLists(items: readonly PolicySetItem[], clients: readonly StoredItem[]): Check[] {
  const listed = items.flatMap(({ sk }) => entryOf(sk) ?? [])
  const isBlocked = (who: string) => listed.some((one) => one.list === 'block' && one.who === who)
  const twice = listed
    .filter(({ list, who }) => list === 'allow' && isBlocked(who))
    .map(
      ({ who }): Finding => ({
        found: `${who} is blocked and exempt: the block holds`,
        remedy: `sluice block remove ${shellWord(who)} --allow, or without --allow`,
      }),
    )
  const ids = new Set(clients.map(({ item }) => `client:${item.id}`))
  const unknown = listed
    .filter(({ who }) => who.startsWith('client:') && !ids.has(who))
    .map(
      ({ list, who }): Finding => ({
        found: `${who} is ${list === 'block' ? 'blocked' : 'exempt'}, and there is no such client`,
        remedy: `sluice block remove ${shellWord(who)}${list === 'allow' ? ' --allow' : ''}`,
      }),
    )
  const all = [...twice, ...unknown]
  return all.length > 0 ? [{ name: 'lists', status: 'warning', ...told(all) }] : []
}

/** What is wrong with a record by itself. */
function findingOf(record: StoredItem): Finding | undefined {
  const mistakes = mistakesOf(record)
  if (mistakes.length === 0) return undefined
  const { pk, id } = record.item
  const name = recordName(pk)
  const found = `${typeof id === 'string' ? `client ${printed(id)}` : 'a client'} (${name}): ${mistakes.join('; ')}`
  const options = Object.keys(record.item)
    .filter(isWrong(record.item))
    .map((field) => MENDED_BY[field as never])
  const isMended = typeof id === 'string' && options.length > 0 && options.every((option) => option !== undefined)
  return { found, remedy: isMended ? `sluice clients set ${shellWord(id)} ${options.join(' ')}` : removal(name) }
}

const isWrong =
  (item: StoredItem['item']) =>
  (field: string): boolean => {
    const issues: Mistake[] = []
    if (field !== 'pk' && field !== 'sk')
      parseClientItem({ pk: '', sk: '', id: 'i', tier: 't', [field]: item[field] }, issues)
    return issues.length > 0
  }

function withoutTier({ id, tier }: StoredItem['item']): Finding[] {
  return [
    {
      found: `client ${printed(id)} has tier ${printed(tier)}, which does not exist`,
      remedy: `sluice clients set ${shellWord(String(id))} --tier NAME`,
    },
  ]
}

/** Fields that are the client's and not a credential's, and what gives all of its records one value. */
const OF_THE_CLIENT = {
  tier: (id: string) => `sluice clients set ${id} --tier NAME`,
  overrides: (id: string) => `sluice clients set ${id} --no-overrides --override POLICY=LIMIT`,
  disabled: (id: string) => `sluice clients disable ${id}, or sluice clients set ${id} --enable`,
} as const

/** Clients whose limits depend on which of their credentials a request shows. */
function contradictions(clients: readonly StoredItem[]): Finding[] {
  const byId = new Map<unknown, StoredItem['item'][]>()
  for (const { item } of clients) byId.set(item.id, [...(byId.get(item.id) ?? []), item])
  return [...byId].flatMap(([id, records]): Finding[] => {
    const fields = Object.keys(OF_THE_CLIENT) as (keyof typeof OF_THE_CLIENT)[]
    const apart = fields.filter((field) => records.some((one) => !isDeepStrictEqual(one[field], records[0]![field])))
    if (apart.length === 0) return []
    return [
      {
        found: `the ${records.length} credentials of client ${printed(id)} differ in ${apart.join(', ')}`,
        remedy: apart.map((field) => OF_THE_CLIENT[field](shellWord(String(id)))).join('; '),
      },
    ]
  })
}

function told(findings: readonly Finding[]): Finding {
  const shown = findings.slice(0, MAX_TOLD)
  const more = findings.length > MAX_TOLD ? `; and ${findings.length - MAX_TOLD} more` : ''
  return {
    found: shown.map(({ found }) => found).join('; ') + more,
    remedy: [...new Set(shown.map(({ remedy }) => remedy))].join('; '),
  }
}
