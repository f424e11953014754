import type { Command } from 'commander'
import { wholeNumber } from '../arguments'
import { credentialOf, stateOf } from '../callers/client-records'
import { listWord, standingsIn } from '../callers/client-standing'
import { nearestClients } from '../callers/clients-usage'
import { overridesText } from '../callers/overrides'
import { kindOf, readSignatures, signedByOf } from '../callers/signatures'
import { withoutSecrets } from '../callers/usage-key'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { duration } from '../terminal/output'

interface Options extends OutputOptions {
  readonly tier?: string
  readonly usage?: boolean
  readonly limit?: number
  readonly api?: string
}

/** Clients that `--usage` shows, where nothing else is said. */
const MAX_SHOWN = 20

export const addClientsList: AddCommand = (group, session) => {
  const command: Command = describeTableCommand(
    group,
    'list',
    'List all clients, one line per credential. Reads the full config table; with --usage, the state table too.',
    ['sluice clients list', 'sluice clients list --tier pro --json', 'sluice clients list --usage --limit 10'],
  )
  command
    .option('--tier <name>', 'only clients of this tier')
    .option('--usage', 'one line per client: the policy that is nearest to its limit; nearest client first')
    .option(
      '--limit <count>',
      `with --usage: at most this many clients (default: ${MAX_SHOWN})`,
      wholeNumber(1, 100_000),
    )
    .option('--api <api>', 'with --usage: for requests to this API or stage: shop, shop/prod')
    .action((options: Options) => {
      const wrong = (['limit', 'api'] as const).find((name) => options[name] !== undefined)
      if (wrong !== undefined && !options.usage) throw new UserError(`--${wrong} goes with --usage`)
      return options.usage ? listUsage(session, options) : list(session, options)
    })
}

async function list(session: Session, options: Options): Promise<void> {
  const { print, io } = session
  const table = await session.connect(options).configTable()
  const [all, signatures] = [await table.clients(), await readSignatures(table)]
  const policySet = (await table.policySet()).map(({ item }) => item)
  const standing = standingsIn(policySet, io.clock())
  const items = all
    .map(({ item }) => item as Readonly<Record<string, unknown>> & { readonly pk: string })
    .filter(({ tier }) => options.tier === undefined || tier === options.tier)
    .sort((a, b) => String(a.id).localeCompare(String(b.id), 'en') || (a.pk < b.pk ? -1 : 1))
  if (options.json)
    return print.json(
      items.map(({ pk, sk: _sk, ...fields }) => ({
        ...withoutSecrets(fields),
        ...standing(fields),
        credential: credentialOf({ pk }),
        ...signedByOf({ pk }, signatures),
      })),
    )
  if (items.length === 0) return print.note('no clients')
  print.table(
    ['id', 'tier', 'name', 'overrides', 'credential', 'kind', 'state'],
    items.map((item) => [
      String(item.id),
      `${item.tier}${standing(item).isTierGone ? ' (gone)' : ''}`,
      String(item.name ?? ''),
      overridesText(item.overrides, io.clock()),
      credentialOf(item),
      kindOf(item, signatures),
      [standing(item).entry]
        .flatMap((entry) => (entry ? [listWord(entry)] : []))
        .concat(stateOf(item, io.clock()))
        .join(', '),
    ]),
  )
}

async function listUsage(session: Session, options: Options): Promise<void> {
  const { print } = session
  const most = options.limit ?? MAX_SHOWN
  const found = await nearestClients(session, session.connect(options), most, options.api, options.tier)
  const { clients, count, uncounted, invalid } = found
  if (options.json) print.json(clients)
  else if (clients.length > 0)
    print.table(
      ['id', 'tier', 'policy', '', 'used', 'remaining', 'limit', 'full again in', 'state'],
      clients.map(({ id, tier, state, reason, nearest: { policy, route, used, remaining, limit, resetAfterMs } }) => [
        id,
        tier ?? '',
        [policy, route].filter(Boolean).join(' '),
        print.bar(used, used + remaining),
        String(used),
        String(remaining),
        String(limit),
        duration(resetAfterMs),
        reason ?? state,
      ]),
    )
  const others = count - uncounted - clients.length
  if (others > 0) print.note(`${others} other clients are further from their limits: --limit shows more`)
  if (uncounted > 0) {
    const where = options.api === undefined ? ', for requests to no API in particular: --api names one' : ''
    print.note(`${uncounted} of ${count} clients are counted by no policy${where}`)
  }
  if (invalid > 0) print.note(`${invalid} invalid records are left out: sluice doctor names them`)
  if (count === 0) print.note('no clients')
}
