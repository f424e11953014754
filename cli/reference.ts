import type { Command, Option } from 'commander'
import { examplesOf } from './command'

const INTRODUCTION = `# The command line

In a project that has the package, and in a clone after \`npm ci\`, \`npx sluice\` runs it. This page is written by \`npm run docs:cli\` from the commands themselves; each says the same with \`--help\`.

**Where the tables are.** \`--table\` and \`--state-table\` name them, else \`SLUICE_CONFIG_TABLE\` and \`SLUICE_STATE_TABLE\`. With \`--endpoint\` (or
\`SLUICE_DYNAMODB_ENDPOINT\`) they are those of \`sluice dev\`, which prints its engine's address. If none of them is set and there is no AWS Region or no credentials, they are those of the local gateway
that runs on port \`PORT\`, by default 3000. Else they are found in CloudFormation: the stack that has the
outputs of a limiter, or the one that \`--stack\` names; where a local gateway runs as well, nothing is done and both are named. Region and credentials are AWS's usual ones: \`AWS_PROFILE\`, \`AWS_REGION\`,
access keys, roles. A DynamoDB on your own machine takes made-up ones, the same as with \`sluice dev\`.

**Answers.** Tables for people, \`--json\` for scripts. Data goes to standard output, all else to standard error. Colours only on a terminal, and not with
\`NO_COLOR\`. Exit codes: 0 done, 1 the user's mistake, 2 the service's failure, 3 a condition of
\`simulate --fail-if\` holds, 130 stopped by Ctrl-C with something left to do.

**Writing.** A write is refused when the item is no longer what it was when it was looked at. \`tiers apply\` writes up to 100 changes in one transaction, all or
nothing. More, or on an engine without transactions such as dynalite, are written one after another in an order in which the table is valid after each; when it
fails half-way, or on Ctrl-C, it finishes the write under way and says what is done, and the same command goes on from there. Authorizers notice within half a
minute.

**Who edited what.** \`tiers export\` notes under \`exported\` what each item was. \`tiers apply\` refuses to overwrite what others have edited, created or deleted since,
unless \`--force\` is set, and brings \`exported\` up to date with what it wrote. A file without \`exported\` is applied as it is.

**Reading clients.** The config table is keyed by credentials, not by ids. Finding a client by its id, and listing clients, is a \`Scan\` of the whole table with a
filter: it costs read units for every item there.
`

/** docs/cli.md. */
export function reference(program: Command): string {
  const leaves = program.commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
  const shared = sharedOptions(leaves.filter((leaf) => leaf.name() !== 'help'))
  return [
    INTRODUCTION,
    '## Options of every command that talks to the tables\n',
    optionTable(shared),
    ...program.commands.flatMap((command) => {
      if (command.commands.length === 0) return [section(command, '##', shared)]
      return [
        `## ${command.name()}\n\n${command.description()}\n`,
        ...command.commands.map((leaf) => section(leaf, '###', shared)),
      ]
    }),
  ].join('\n')
}

/** Those that stand under a heading of their own in `--help`, and `--json`. */
function sharedOptions(leaves: readonly Command[]): Option[] {
  const most = leaves.reduce((a, b) => (b.options.length > a.options.length ? b : a))
  return most.options.filter(({ long, helpGroupHeading }) => helpGroupHeading !== undefined || long === '--json')
}

function section(command: Command, heading: string, shared: readonly Option[]): string {
  const own = command.options.filter(({ long }) => !shared.some((option) => option.long === long))
  return [
    `${heading} ${nameOf(command)}\n`,
    `${escaped(command.description())}\n`,
    `\`\`\`sh\n${examplesOf(command).join('\n')}\n\`\`\`\n`,
    ...(own.length > 0 ? [optionTable(own)] : []),
  ].join('\n')
}

function nameOf(command: Command): string {
  const group = command.parent?.parent ? `${command.parent.name()} ` : ''
  const args = command.registeredArguments
    .map((one) => (one.required ? ` &lt;${one.name()}&gt;` : ` [${one.name()}]`))
    .join('')
  return `${group}${command.name()}${args}`
}

function optionTable(options: readonly Option[]): string {
  const rows = options.map(
    ({ flags, description }) => `| \`${flags}\` | ${escaped(description).replaceAll('|', '\\|')} |`,
  )
  return ['| option | |', '|---|---|', ...rows, ''].join('\n')
}

/** A placeholder such as `<name>` would be HTML, which nobody sees. */
const escaped = (text: string): string => text.replaceAll('<', '&lt;')
