import { Command } from 'commander'
import type { AddCommand, Session } from './command'
import { addApisLabel } from './commands/apis-label'
import { addApisList } from './commands/apis-list'
import { addApisRemove } from './commands/apis-remove'
import { addAttach } from './commands/attach'
import { addBlockAdd } from './commands/block-add'
import { addBlockExport } from './commands/block-export'
import { addBlockList } from './commands/block-list'
import { addBlockRemove } from './commands/block-remove'
import { addClientsCreate } from './commands/clients-create'
import { addClientsDelete } from './commands/clients-delete'
import { addClientsDisable } from './commands/clients-disable'
import { addClientsExport } from './commands/clients-export'
import { addClientsGet } from './commands/clients-get'
import { addClientsImport } from './commands/clients-import'
import { addClientsList } from './commands/clients-list'
import { addClientsRotateKey } from './commands/clients-rotate-key'
import { addClientsSet } from './commands/clients-set'
import { addCompletion } from './commands/completion'
import { addDetach } from './commands/detach'
import { addDev } from './commands/dev'
import { addDoctor } from './commands/doctor'
import { addForget } from './commands/forget'
import { addHistory } from './commands/history'
import { addHmacKeyCarry } from './commands/hmac-key-carry'
import { addHmacKeyEnable } from './commands/hmac-key-enable'
import { addHmacKeyPurge } from './commands/hmac-key-purge'
import { addImportUsagePlans } from './commands/import-usage-plans'
import { addInit } from './commands/init'
import { addKeyRingRotate } from './commands/key-ring-rotate'
import { addKeyRingStatus } from './commands/key-ring-status'
import { addObserve } from './commands/observe'
import { addOff } from './commands/off'
import { addOn } from './commands/on'
import { addPeek } from './commands/peek'
import { addRefund } from './commands/refund'
import { addReset } from './commands/reset'
import { addSigningKeyRemove } from './commands/signing-key-remove'
import { addSimulate } from './commands/simulate'
import { addStatus } from './commands/status'
import { addTiersApply } from './commands/tiers-apply'
import { addTiersDiff } from './commands/tiers-diff'
import { addTiersExport } from './commands/tiers-export'
import { addTiersGet } from './commands/tiers-get'
import { addTiersList } from './commands/tiers-list'
import { addTiersRollback } from './commands/tiers-rollback'
import { addTiersSchema } from './commands/tiers-schema'
import { addTiersSplit } from './commands/tiers-split'
import { addTiersValidate } from './commands/tiers-validate'
import { addTop } from './commands/top'
import { addUsage } from './commands/usage'
import { addWhois } from './commands/whois'
import { HMAC_RING, SIGNING_RING } from './facade/tables'
import { printable } from './terminal/output'

const GROUPS = [
  {
    name: 'tiers',
    description: 'Manage tiers, routes and their policies.',
    commands: [
      addTiersList,
      addTiersGet,
      addTiersValidate,
      addTiersDiff,
      addTiersApply,
      addTiersRollback,
      addTiersExport,
      addTiersSplit,
      addTiersSchema,
    ],
  },
  {
    name: 'clients',
    description: 'Manage clients: their tiers, keys and overrides.',
    commands: [
      addClientsCreate,
      addClientsGet,
      addClientsList,
      addClientsSet,
      addClientsRotateKey,
      addClientsDisable,
      addClientsDelete,
      addClientsImport,
      addClientsExport,
    ],
  },
  {
    name: 'apis',
    description: 'Label APIs, so that limits can name some of them.',
    commands: [addApisList, addApisLabel, addApisRemove],
  },
  {
    name: 'block',
    description: 'Manage callers that are blocked, or allowed without counting.',
    commands: [addBlockAdd, addBlockRemove, addBlockList, addBlockExport],
  },
  {
    name: 'hmac-key',
    description: 'Manage the secret of the hashes under which callers are stored.',
    commands: [
      addKeyRingStatus(HMAC_RING),
      addHmacKeyEnable,
      addHmacKeyCarry,
      addHmacKeyPurge,
      addKeyRingRotate(HMAC_RING),
    ],
  },
  {
    name: 'signing-key',
    description: 'Manage the secrets with which API keys are signed.',
    commands: [addKeyRingStatus(SIGNING_RING), addKeyRingRotate(SIGNING_RING), addSigningKeyRemove],
  },
  {
    name: 'import',
    description: 'Import limits and clients.',
    commands: [addImportUsagePlans],
  },
] as const

const toCommand =
  ({ name, description, commands }: (typeof GROUPS)[number]): AddCommand =>
  (program, session) => {
    const group = program.command(name).description(description)
    for (const add of commands) add(group, session)
  }

/** It writes down all the others. */
const OF_ALL = 'completion'

/** By the first word of a command line. */
const COMMANDS = new Map<string, AddCommand>([
  ...GROUPS.map((group) => [group.name, toCommand(group)] as const),
  ['init', addInit],
  ['dev', addDev],
  ['simulate', addSimulate],
  ['top', addTop],
  ['usage', addUsage],
  ['whois', addWhois],
  ['peek', addPeek],
  ['refund', addRefund],
  ['reset', addReset],
  ['forget', addForget],
  ['off', addOff],
  ['on', addOn],
  ['observe', addObserve],
  ['attach', addAttach],
  ['detach', addDetach],
  ['history', addHistory],
  ['status', addStatus],
  ['doctor', addDoctor],
  [OF_ALL, addCompletion],
])

/** Commands about APIs in AWS, which a local gateway does not have. */
const AWS_ONLY = new Set(['attach', 'detach', 'status', 'usage-plans'])

/**
 * The tree of commands.
 *
 * @param asked the first word of a command line: a command or a group of this name is built alone, which is sooner.
 * @default the whole tree
 */
export function buildProgram(session: Session, asked?: string): Command {
  const { stdout, stderr } = session.io
  const program = new Command('sluice')
    .description('Manages the tiers, clients and limits of Sluice, a rate limiter for Amazon API Gateway.')
    .version(session.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text.split('\n').map(printable).join('\n')),
      getOutHelpWidth: () => stdout.columns ?? 100,
      getErrHelpWidth: () => stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  const alone = asked === undefined || asked === OF_ALL ? undefined : COMMANDS.get(asked)
  for (const add of alone ? [alone] : COMMANDS.values()) add(program, session)
  program.hook('preAction', async (_, command) => {
    session.commandName = nameOf(command)
    const asksTables = command.options.some(({ long }) => long === '--endpoint')
    if (asksTables && !AWS_ONLY.has(command.name())) await session.findLocalGateway(command.opts())
  })
  return program
}

/** `tiers apply`: without the program's own name. */
function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}`.trim() : ''
}
