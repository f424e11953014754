import { Command } from 'commander'
import { type AddCommand, addSharedOptions, type Session, takeSharedOptions } from './command'
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

/** Commands that have commands of their own. */
const GROUPS = {
  import: ['Import limits and clients.', addImportUsagePlans],
  tiers: [
    'Manage tiers, routes and their policies.',
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
  clients: [
    'Manage clients: their tiers, keys and overrides.',
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
  apis: ['Label APIs, so that limits can name some of them.', addApisList, addApisLabel, addApisRemove],
  block: [
    'Manage callers that are blocked, or allowed without counting.',
    addBlockAdd,
    addBlockRemove,
    addBlockList,
    addBlockExport,
  ],
  'hmac-key': [
    'Manage the secret of the hashes that stand for callers.',
    addKeyRingStatus(HMAC_RING),
    addHmacKeyEnable,
    addHmacKeyCarry,
    addHmacKeyPurge,
    addKeyRingRotate(HMAC_RING),
  ],
  'signing-key': [
    'Manage the secrets with which API keys are signed.',
    addKeyRingStatus(SIGNING_RING),
    addKeyRingRotate(SIGNING_RING),
    addSigningKeyRemove,
  ],
} as const satisfies Readonly<Record<string, readonly [description: string, ...commands: AddCommand[]]>>

const group =
  (name: keyof typeof GROUPS): AddCommand =>
  (program, session) => {
    const [description, ...commands] = GROUPS[name]
    const parent = addSharedOptions(program.command(name).description(description))
    for (const add of commands) add(parent, session)
  }

/** It writes down all the others. */
const OF_ALL = 'completion'

/** By the heading under which `--help` lists them, and the first word of a command line. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, AddCommand>>>> = {
  'Set up': {
    init: addInit,
    dev: addDev,
    import: group('import'),
    attach: addAttach,
    detach: addDetach,
    status: addStatus,
    [OF_ALL]: addCompletion,
  },
  Limits: {
    tiers: group('tiers'),
    clients: group('clients'),
    apis: group('apis'),
    block: group('block'),
    simulate: addSimulate,
  },
  Callers: {
    top: addTop,
    usage: addUsage,
    peek: addPeek,
    whois: addWhois,
    refund: addRefund,
    reset: addReset,
    forget: addForget,
  },
  Operation: { off: addOff, on: addOn, observe: addObserve, history: addHistory, doctor: addDoctor },
  Secrets: { 'hmac-key': group('hmac-key'), 'signing-key': group('signing-key') },
}

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
    .enablePositionalOptions()
    .configureHelp({
      visibleCommands: (command) => [...command.commands],
      subcommandTerm: (command) => command.name(),
      subcommandDescription: firstSentence,
    })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text.split('\n').map(printable).join('\n')),
      getOutHelpWidth: () => stdout.columns ?? 100,
      getErrHelpWidth: () => stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  addSharedOptions(program).addHelpText(
    'after',
    '\nsluice <command> --help shows the options of a command, and examples.',
  )
  const isAlone = asked !== OF_ALL && Object.values(SECTIONS).some((commands) => Object.hasOwn(commands, asked ?? ''))
  for (const [heading, commands] of Object.entries(SECTIONS)) {
    program.commandsGroup(`${heading}:`)
    for (const [name, add] of Object.entries(commands)) if (!isAlone || name === asked) add(program, session)
  }
  program.hook('preAction', async (_, command) => {
    session.commandName = nameOf(command)
    takeSharedOptions(command)
    const asksTables = command.options.some(({ long }) => long === '--endpoint')
    if (asksTables && !AWS_ONLY.has(command.name())) await session.findLocalGateway(command.opts())
  })
  return program
}

/** `tiers apply`: without the program's own name. */
function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}`.trim() : ''
}

/** What `--help` lists of a command: its description, up to what explains it. */
const firstSentence = (command: Command): string => /^.*?(?=[.:]( |$)|$)/.exec(command.description())![0]
