import type { Command } from 'commander'
import type { OutputOptions, Session } from '../command'
import { UserError } from '../exit'
import type { OpenReservations } from '../facade/counters'
import { ipv6PrefixOf, limiterOver, type RateLimiter, type ReadOnlyParts, readOnlyParts } from '../facade/decisions'
import { scopedName } from '../facade/policies'
import type { StateStore } from '../facade/tables'
import type { ConfigTable } from '../tables/config-table'
import { duration } from '../terminal/output'
import { warnOfSwitch } from '../tiers/mode-switch'
import { countedOf } from './counted'
import { foundText, isSubjectName, unknownSubject, whoHas } from './hashed-subject'
import { toHash } from './stored-hash'
import { findSubject, readKnown, type Subject } from './subjects'

/** The options of commands about one subject. */
export interface AboutSubject extends OutputOptions {
  readonly tier?: string
  readonly api?: string
}

/** Adds the subject that a command is about, and the options that say which limits it has. */
export const withSubject = (command: Command): Command =>
  command
    .argument('<subject>', 'a client’s id, or client:…, user:…, ip:…, global, api:…, or a hash of the log')
    .option('--tier <name>', 'tier of a subject without a client record')
    .option('--api <api>', 'for requests to this API or stage: shop, shop/prod (default: settings for all APIs)')

/** Who is meant, the limiter that knows how they stand, and the store that it asks. */
export interface OpenSubject {
  readonly subject: Subject
  readonly limiter: RateLimiter
  readonly store: StateStore
  /** The authorizer, which charges and writes nothing. */
  readonly parts: ReadOnlyParts
}

/** @param wrap stands between the limiter and the store. */
export async function openSubject(
  session: Session,
  text: string,
  options: AboutSubject,
  wrap: (store: StateStore) => StateStore = (store) => store,
): Promise<OpenSubject> {
  const connection = session.connect(options)
  const { clock } = session.io
  const table = await connection.configTable()
  const store = wrap(await connection.stateStore())
  const limiter = limiterOver(store, clock)
  const configTable = await connection.tableName('config')
  const parts = readOnlyParts({
    client: connection.client,
    configTable,
    limiter,
    clock,
    ipv6Prefix: ipv6Prefix(session),
  })
  const subject = await subjectOf(session, text, options, table, store, parts)
  warnOfSwitch(session, subject.switched)
  return { subject, limiter, store, parts }
}

/** By its name, or by its hash out of a log. */
async function subjectOf(
  session: Session,
  text: string,
  options: AboutSubject,
  table: ConfigTable,
  store: StateStore,
  parts: ReadOnlyParts,
): Promise<Subject> {
  const read = await readKnown(table)
  const known = { ...read, configuration: (await parts.configuration.current()) ?? read.configuration }
  const named = (name: string) => findSubject(name, options.tier, options.api, table, known, parts)
  const hash = toHash(text)
  if (!hash) return named(text)
  const found = await whoHas(hash, table, known, parts.ipv6Prefix)
  if (found.name !== undefined) session.print.note(`${text} is ${foundText(found)}`)
  const name = found.name?.replace(/^(ip:.*)\/\d+$/, '$1') // an address stands for its network
  if (name !== undefined && isSubjectName(name)) return named(name)
  const why = found.name === undefined ? found.why : `${found.name} is not a single caller`
  return unknownSubject(hash, why, options, known, (key) => store.read(key), parts)
}

/** As the function's environment says, where this one says so too. */
export const ipv6Prefix = ({ io }: Session): number => ipv6PrefixOf(io.env)

/** As it is called: by its name, or by the hash that nobody is known by. */
export const calledOf = ({ name, hash }: Pick<Subject, 'name' | 'hash'>): string => hash ?? name

/** `client:acme (tier pro)`. */
export function nameOf(subject: Subject): string {
  const { tier, remark, beforeLimits } = subject
  const name = calledOf(subject)
  const parts = [
    tier && `tier ${scopedName(tier.name, tier.scope)}`,
    remark,
    beforeLimits && BEFORE_LIMITS[beforeLimits],
  ]
  const shown = parts.filter((one) => one !== undefined)
  return shown.length === 0 ? name : `${name} (${shown.join(', ')})`
}

/** Says that nothing counts a subject, and what counts its requests, if that is known. */
export function noPolicies(subject: Subject, where = ''): UserError {
  return new UserError(`${nameOf(subject)} has no policies${where}${countedAs(subject)}`)
}

function countedAs(subject: Subject): string {
  const { name, client, asked } = subject
  if (client && name !== `client:${client.id}`)
    return `: it is a credential of a client and counted as client:${client.id}`
  if (asked.kind !== 'part' || asked.tier !== undefined) return ''
  const { tiers: all } = subject.configuration.policies
  const tiers = [...all.keys()].filter((tier) => countedOf({ ...subject, tier: all.get(tier) }).length > 0)
  return tiers.length === 0 ? '' : ` for all tiers: add ${tiers.map((tier) => `--tier ${tier}`).join(' or ')}`
}

/** What becomes of requests that are not held to limits, where neither a record nor a switch says it already. */
const BEFORE_LIMITS: Readonly<Partial<Record<NonNullable<Subject['beforeLimits']>, string>>> = {
  blocked: 'blocked',
  exempt: 'is allowed without counting',
  unverified: 'cannot be verified',
}

/** `3 of 1000 reservations are open, the last for 2 min`. */
export const reservationText = ({ open, limit, lastMs }: OpenReservations): string =>
  `${open} of ${limit} reservations are open${lastMs > 0 ? `, the last for ${duration(lastMs)}` : ', past their deadline'}`
