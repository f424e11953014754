import { KINDS, namedBy } from '../callers/asked'
import { eachOf, type Mentions, mentionsOf, nameOfCredential, recordsAbout } from '../callers/forget'
import { foundText, isSubjectName, whoHas } from '../callers/hashed-subject'
import { hint } from '../callers/hints'
import { knownNames, PLACE } from '../callers/known-names'
import { ipv6Prefix } from '../callers/limits'
import { allKeysOf, type StoredHash, toHash } from '../callers/stored-hash'
import { addressName, readKnown } from '../callers/subjects'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { ServiceError, UserError } from '../exit'
import { HMAC_RING } from '../facade/tables'
import { printed } from '../facade/values'
import { readKeyRing } from '../tables/key-ring'
import { deleteSubject } from '../tables/state-items'
import { confirm } from '../terminal/question'
import { readPolicySet } from '../tiers/read-policy-set'

interface Options extends OutputOptions {
  readonly raw?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** Other places that may hold data about a caller, outside the tables. */
const ELSEWHERE = [
  'the authorizer’s log and the API’s access logs keep hashes until their retention ends; with logCallers "clear", ids and addresses',
  'backups of the tables and their point-in-time recovery keep items for up to 35 days',
  'running instances keep leases and unwritten counts in memory for a window at most; if the caller was active in the last minutes, run this again later',
] as const

export const addForget: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'forget <subject...>',
    'Erase all that is stored of a caller: counters, recorded overage, client records, keys and blocks. Asks first. Give all names of the ' +
      'caller together (a client’s id, client:…, user:…, ip:…, header:<name>=<value>, claim:<name>=<value>, api:…, stage:…, ' +
      'or a hash of the log): some counters combine several. The exit code is 2 if something could not be erased.',
    ['sluice forget acme', 'sluice forget user:42 ip:203.0.113.7 --dry-run', 'sluice forget order:1234 --raw'],
  )
    .option('--raw', 'subjects as a program gives them to sluice/limiter; erases counters only')
    .option('--dry-run', 'show what would be done without doing it')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (texts: readonly string[], options: Options) => forget(texts, options, session))
}

async function forget(texts: readonly string[], options: Options, session: Session): Promise<void> {
  const { io, print } = session
  const connection = session.connect(options)
  const table = await connection.configTable()
  const { ring: keys } = await readKeyRing(HMAC_RING, table)
  const state = { client: connection.client, name: await connection.tableName('state') }
  const hashes = texts.flatMap((text) => toHash(text) ?? [])
  const { given, byHash } = await resolved(hashes)
  const plain = [...texts.filter((text) => !toHash(text)), ...given]
  const found =
    options.raw || plain.length === 0 ? { names: plain, unknown: [], items: [], networks: [] } : await lookUp(plain)
  const { names, items, unknown } = found
  const subjects = [...names, ...byHash.map(({ text }) => text)]
  const keysOf = (subject: string): string[] => {
    const hash = byHash.find(({ text }) => text === subject)
    return hash ? allKeysOf(hash, keys) : keys.allOf(subject)
  }

  const left = [
    ...found.networks.map((network) => `${network}, which holds other addresses as well: sluice block remove`),
    ...unknown.map((dimension) => `counters by ${dimension}, because no value of it was given`),
  ]
  const result = { subjects, items: items.map(({ text }) => text), left, elsewhere: ELSEWHERE }
  if (options.dryRun) return options.json ? print.json({ dryRun: true, ...result }) : report('would erase', result)
  const asked = items.length === 0 ? '' : `, and delete ${result.items.join('; ')}`
  await confirm(`Erase all counters of ${texts.join(', ')}${asked}?`, io, options, () =>
    connection.describe('config', 'state'),
  )

  const erased: string[] = []
  const failed = await io.interrupts.during(async () => {
    // Client records first, so that requests that arrive meanwhile are not counted under subjects erased below.
    const ofItems = await eachOf(
      items,
      ({ text }) => text,
      async ({ text, writes }) => {
        for (const write of writes) await table.forgetting().write([write])
        erased.push(text)
      },
    )
    const ofState = await eachOf(
      subjects,
      (name) => `counters of ${name}`,
      async (name) => {
        const were = await Promise.all(keysOf(name).map((key) => deleteSubject(state, key)))
        if (were.includes(true)) erased.push(`counters of ${name}`)
      },
    )
    return [...ofItems, ...ofState]
  })
  const done = { subjects, erased, failed, left, elsewhere: ELSEWHERE }
  if (options.json) print.json(done)
  else report('erased', { ...done, items: erased })
  if (failed.length > 0) throw new ServiceError(`some items could not be erased, run it again: ${failed.join('; ')}`)

  /** Whom hashes stand for; the counters of those that nobody is known by are found by the hash itself. */
  async function resolved(all: readonly StoredHash[]): Promise<{ given: string[]; byHash: StoredHash[] }> {
    const given: string[] = []
    const byHash: StoredHash[] = []
    if (all.length === 0) return { given, byHash }
    const known = await readKnown(table)
    for (const hash of all) {
      const who = await whoHas(hash, table, known, ipv6Prefix(session))
      if (who.name === undefined)
        print.note(`${hash.text} cannot be resolved, so only counters under this hash are erased: ${who.why}`)
      else print.note(`${hash.text} is ${foundText(who)}`)
      if (who.name !== undefined && isSubjectName(who.name) && !options.raw) given.push(who.name)
      else byHash.push(hash)
    }
    return { given, byHash }
  }

  async function lookUp(
    given: readonly string[],
  ): Promise<Mentions & { names: readonly string[]; unknown: readonly string[] }> {
    const { policies } = readPolicySet((await table.policySet()).map(({ item }) => item)).configuration
    const parts = given.map((text) => {
      if (PLACE.test(text)) return { kind: 'place', id: text, name: text }
      const { kind, id } = namedBy(text)
      if (text === 'global' || kind === 'route')
        throw new UserError(`${text} is not a caller: it counts all callers together`)
      return {
        kind,
        id,
        name: kind === 'ip' ? addressName(id, policies.settings, ipv6Prefix(session)) : `${kind}:${id}`,
      }
    })
    const named = parts.map(({ name }) => name)
    const records = await recordsAbout(table, named)
    for (const text of given.filter((one) => !KINDS.test(one) && one !== 'global'))
      if (!records.some(({ item }) => item.id === text)) print.note(await withoutRecord(text))
    const more = records.flatMap((record) =>
      [`client:${String(record.item.id)}`, nameOfCredential(record) ?? []].flat(),
    )
    const all = [...new Set([...named, ...more])]
    const addresses = parts.flatMap(({ kind, id }) => (kind === 'ip' ? [id] : []))
    return { ...(await mentionsOf(table, records, all, addresses)), ...knownNames(all, policies) }
  }

  /** A misspelt id must not look like one about whom nothing is stored. */
  async function withoutRecord(id: string): Promise<string> {
    const ids = (await table.clients()).map(({ item }) => String(item.id)).sort()
    return `no client record has the id ${printed(id)}${hint(id, ids, 'sluice clients list')}`
  }

  function report(
    verb: string,
    all: { items: readonly string[]; subjects: readonly string[]; left: readonly string[] },
  ): void {
    for (const text of all.items) print.line(`${verb}: ${text}`)
    if (options.dryRun) for (const name of all.subjects) print.line(`${verb}: counters of ${name}, if there are any`)
    else if (all.items.length === 0) print.line('nothing is stored')
    for (const text of all.left) print.line(`kept: ${text}`)
    for (const text of ELSEWHERE) print.note(`not erased: ${text}`)
  }
}
