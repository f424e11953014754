import type { Command } from 'commander'
import { scopedName } from '../../lambda/config-table/items/scopes'
import { parseConfig } from '../../lambda/environment'
import { RateLimiter } from '../../limiter/rate-limiter'
import type { StateStore } from '../../limiter/stores/store'
import type { OutputOptions, Session } from '../command'
import { warnOfSwitch } from '../tiers/mode-switch'
import { findSubject, type Subject } from './subjects'

/** The options of commands about one subject. */
export interface AboutSubject extends OutputOptions {
  readonly tier?: string
  readonly api?: string
}

export const SUBJECT = 'a client’s id, or client:…, user:…, ip:…, global, api:…'

/** Time for one look at a table that may be far away, in milliseconds. */
const DEADLINE_MS = 10_000

export const withTier = (command: Command): Command =>
  command
    .option('--tier <name>', 'the tier of a subject that has no client record')
    .option(
      '--api <api>',
      'for requests to this API or stage, such as shop or shop/prod (default: settings for all APIs)',
    )

/** Who is meant, the limiter that knows how they stand, and the store that it asks. */
export interface OpenSubject {
  readonly subject: Subject
  readonly limiter: RateLimiter
  readonly store: StateStore
}

export async function openSubject(session: Session, text: string, options: AboutSubject): Promise<OpenSubject> {
  const connection = session.connect(options)
  const { clock } = session.io
  const subject = await findSubject(
    text,
    options.tier,
    options.api,
    await connection.configTable(),
    ipv6Prefix(session),
    clock(),
  )
  warnOfSwitch(session, subject.switched)
  const store = await connection.stateStore()
  const limiter = new RateLimiter({
    store,
    clock,
    deadlineMs: DEADLINE_MS,
    denialTtlMs: 0,
    onStoreError: 'throw',
  })
  return { subject, limiter, store }
}

/** As the function's environment says, where this one says so too. */
export function ipv6Prefix({ io }: Session): number {
  const { SLUICE_IPV6_PREFIX } = io.env
  return parseConfig({ SLUICE_STATE_TABLE: 'any', SLUICE_CONFIG_TABLE: 'any', SLUICE_IPV6_PREFIX }).ipv6Prefix
}

/** `client:acme (tier pro)`. */
export function nameOf({ name, tier, remark, beforeLimits }: Subject): string {
  const said = [tier && `tier ${scopedName(tier.name, tier.scope)}`, remark, beforeLimits && LISTED[beforeLimits]]
  const shown = said.filter((one) => one !== undefined)
  return shown.length === 0 ? name : `${name} (${shown.join(', ')})`
}

/** What its record does not say already. */
const LISTED = { blocked: 'blocked', exempt: 'is allowed without counting', unauthorized: undefined } as const
