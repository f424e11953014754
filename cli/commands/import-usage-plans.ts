import { APIGatewayClient } from '@aws-sdk/client-api-gateway'
import { Option } from 'commander'
import { gather } from '../arguments'
import { Calls } from '../attach/calls'
import { TIMEOUTS } from '../attach/open'
import { unreadCredentials } from '../callers/unread-credentials'
import { writeClients } from '../clients-file/write-clients'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import { counted } from '../terminal/output'
import { confirm } from '../terminal/question'
import { printChanges } from '../tiers/diff-text'
import { writeChanges } from '../tiers/write-changes'
import { type ClientsPlan, planClients } from '../usage-plans/plan-clients'
import { planTiers } from '../usage-plans/plan-tiers'
import { type ApiKey, type Plan, readKeys, readPlans } from '../usage-plans/read-plans'
import { type Left, planText, toTiers } from '../usage-plans/to-tiers'

interface Options extends OutputOptions {
  readonly plan?: readonly string[]
  readonly by: 'value' | 'id'
  readonly metering?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** Clients, and sentences of one kind, that are shown one by one. */
const MAX_SHOWN = 20

export const addImportUsagePlans: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'usage-plans',
    'Make tiers and clients of API Gateway’s usage plans and API keys. Shows them and asks first. Existing items are kept; what is not imported is listed.',
    [
      'sluice import usage-plans --dry-run',
      'sluice import usage-plans --by id --yes',
      'sluice import usage-plans --plan a1b2c3 --metering',
    ],
  )
    .option('--plan <id>', 'only this usage plan; repeatable', gather)
    .addOption(
      new Option(
        '--by <what>',
        'identify clients by the value of their key in x-api-key, or by its id, which needs "API key required" on the methods',
      )
        .choices(['value', 'id'])
        .default('value'),
    )
    .option('--metering', 'let usage plans continue to count, by the authorizer; needs the API key source AUTHORIZER')
    .option('--dry-run', 'show what would be done without doing it')
    .option('-y, --yes', 'do not ask for confirmation')
    .action((options: Options) => importPlans(session, options))
}

async function importPlans(session: Session, options: Options): Promise<void> {
  const { print, io } = session
  const { by, metering = false, plan: only = [] } = options
  if (metering && by === 'id') throw new UserError('--metering needs --by value: a request must show the key itself')
  const connection = session.connect(options)
  const table = await connection.configTable()
  const { plans, keys } = await readAccount(session, await connection.region(), only)
  const unknown = only.filter((id) => !plans.some((plan) => plan.id === id))
  if (unknown.length > 0) throw new UserError(`there is no usage plan ${unknown.map(printed).join(', ')}`)

  const tiers = toTiers(plans)
  const stored = await table.policySet()
  const items = stored.map(({ item }) => item)
  const { plan, ...kept } = planTiers(items, tiers.file)
  const clients = await planClients(keys, tiers, { by, metering }, table.clientPages())
  const used = usedOf(plans)
  const left = [...tiers.left, ...kept.left, ...clients.left, ...used.map(usedText)]
  const records = clients.added.map(({ id, writes }) => ({ item: { ...writes[0]!.key, id }, exact: writes[0]!.key }))
  const warnings = unreadCredentials(plan.identity, records)
  const answer = {
    plans: plans.map(({ id, name }) => ({ id, name })),
    tiers: { added: plan.changes.map(({ sk }) => sk), unchanged: kept.unchanged },
    clients: {
      added: clients.added.map(({ id, tier, disabled, keyId }) => ({ id, tier, disabled, keyId })),
      unchanged: clients.unchanged,
    },
    used,
    notImported: left,
    warnings,
  }
  if (!options.json) {
    printChanges(plan.changes, print)
    printClients(session, clients)
    print.line(
      `${counted(plan.changes.length, 'item')} and ${counted(clients.added.length, 'client')} to add; unchanged: ${kept.unchanged} and ${clients.unchanged}`,
    )
    for (const { what, why } of left.slice(0, MAX_SHOWN)) print.note(`not imported: ${what}: ${why}`)
    if (left.length > MAX_SHOWN) print.note(`and ${left.length - MAX_SHOWN} more are not imported: --json lists all`)
    for (const warning of warnings) print.note(`warning: ${warning}`)
  }
  if (options.dryRun) {
    if (options.json) print.json({ ...answer, written: false })
    else print.note('dry run: nothing was written')
    return
  }
  const due = plan.changes.length + clients.added.length
  if (due > 0) {
    await confirm('Import these plans and keys?', io, options, () => connection.describe('config'))
    if (plan.changes.length > 0)
      await io.interrupts.during((pressed) =>
        writeChanges(
          table,
          stored,
          plan.changes,
          () => {},
          pressed,
          (text) => print.note(text),
        ),
      )
    await writeClients(session, table, clients.added)
  }
  if (options.json) print.json({ ...answer, written: true })
  else if (due > 0)
    print.line(`imported: ${counted(plan.changes.length, 'item')}, ${counted(clients.added.length, 'client')}`)
}

async function readAccount(
  { print, io }: Session,
  region: string,
  only: readonly string[],
): Promise<{ plans: Plan[]; keys: ApiKey[] }> {
  const client = new APIGatewayClient({ region, requestHandler: TIMEOUTS })
  const source = { client, calls: new Calls((text) => print.note(text)) }
  try {
    const plans = await readPlans(source, only, io.clock())
    const all = await readKeys(source)
    // of plans that were chosen, only their own keys
    const theirs = new Set(plans.flatMap(({ keys }) => keys))
    return { plans, keys: only.length > 0 ? all.filter(({ id }) => theirs.has(id)) : all }
  } finally {
    client.destroy()
  }
}

interface Used {
  readonly plan: string
  readonly keyId: string
  readonly used: number
  readonly limit: number
  readonly period: string
}

/** What keys have used of their present quotas, which begin whole in Sluice. */
const usedOf = (plans: readonly Plan[]): Used[] =>
  plans.flatMap((plan) =>
    [...plan.left].flatMap(([keyId, rest]) => {
      const { limit = 0, period = '' } = plan.quota ?? {}
      return rest < limit ? [{ plan: planText(plan), keyId, used: limit - rest, limit, period }] : []
    }),
  )

const usedText = ({ plan, keyId, used, limit, period }: Used): Left => ({
  what: `API key ${keyId}, ${used} of ${limit} used in ${plan} by ${period.toLowerCase()}`,
  why: 'quotas start full',
})

function printClients({ print }: Session, { added }: ClientsPlan): void {
  for (const { id, tier, disabled } of added.slice(0, MAX_SHOWN))
    print.line(`+ client ${printed(id)}, tier ${printed(tier)}${disabled ? ', disabled' : ''}`)
  if (added.length > MAX_SHOWN) print.line(`… and ${added.length - MAX_SHOWN} more clients`)
}
