import type { Command, Option } from 'commander'
import { examplesOf } from './command'

const INTRODUCTION = `# The command line

\`\`\`sh
sluice tiers list
sluice tiers apply --help
\`\`\`

In a project that has the package, and in a clone after \`npm ci\`, \`npx sluice\` runs it. \`npm run docs:cli\` writes this page from the commands.

**Which tables.** The first of these that applies:

1. \`--table\` and \`--state-table\`
2. those of the limiter that \`--stack\` or \`--limiter\` names
3. \`SLUICE_CONFIG_TABLE\` and \`SLUICE_STATE_TABLE\`
4. those of \`sluice dev\`, with \`--endpoint\` or \`SLUICE_DYNAMODB_ENDPOINT\`
5. those of the local gateway that runs, on any port, without an AWS Region or credentials: it says that it runs in a file in \`$XDG_RUNTIME_DIR/sluice\`, else in \`sluice-<user>\` in the folder for temporary files
6. those of [the only limiter](deploy.md#which-limiter-the-command-line-means) in CloudFormation. Where a local gateway runs too, the command does nothing and names both.

Region and credentials are AWS's usual ones (\`AWS_PROFILE\`, \`AWS_REGION\`). A DynamoDB on your own machine takes made-up credentials.

**Options** that every command has stand before or after it: \`sluice --json tiers list\`.

**Questions.** What takes a limit or a block away, or changes much at once, asks first; so does \`clients set\`, to a tier without a limit that the client has, and with \`--enable\`. Another number takes no limit away. Without a terminal it needs \`--yes\`.

**Answers.** Data goes to standard output, all else to standard error. \`NO_COLOR\` switches colours off.

| exit code | |
|---|---|
| 0 | done |
| 1 | your mistake, or a check failed |
| 2 | the service failed |
| 3 | a condition of \`simulate --fail-if\` holds |
| 130 | stopped by Ctrl-C with something left to do |

**Writing.** A write is refused if the item changed since it was read. \`tiers apply\` writes up to 100 changes in one transaction. More, or on dynalite, are written one by one, and the table is valid after each: if that stops, run the command again. \`tiers export\` notes under \`exported\` what each item was; \`tiers apply\` of such a file overwrites nothing that others changed since, unless \`--force\` is set.

**Reading clients** by their id, and listing them, is a \`Scan\` of the whole config table.

A \`<subject>\` is a client's id, \`client:…\`, \`user:…\`, \`ip:…\`, \`global\`, \`api:…\`, or a hash of the log.
`

/** With this many commands, an option is explained once for all of them. */
const MANY = 3

/** docs/cli.md. */
export function reference(program: Command): string {
  const leaves = program.commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
  const shared = sharedOptions(leaves.filter((leaf) => leaf.name() !== 'help'))
  const explained = [...shared, ...optionsOfMany(leaves, shared)]
  return [
    INTRODUCTION,
    '## Options of every command that talks to the tables\n',
    optionTable(shared),
    '## Options of several commands\n',
    optionTable(explained.slice(shared.length)),
    ...program.commands.flatMap((command) => {
      if (command.commands.length === 0) return [section(command, '##', explained)]
      return [
        `## ${command.name()}\n\n${command.description()}\n`,
        ...command.commands.map((leaf) => section(leaf, '###', explained)),
      ]
    }),
  ].join('\n')
}

/** Those that stand under a heading of their own in `--help`, and `--json`. */
function sharedOptions(leaves: readonly Command[]): Option[] {
  const most = leaves.reduce((a, b) => (b.options.length > a.options.length ? b : a))
  return most.options.filter(({ long, helpGroupHeading }) => helpGroupHeading !== undefined || long === '--json')
}

/** Those beside the shared ones that say the same in several commands, each once. */
function optionsOfMany(leaves: readonly Command[], shared: readonly Option[]): Option[] {
  const all = leaves.flatMap(({ options }) => options).filter((option) => !isIn(shared, option))
  return all.filter(
    (option, at) =>
      all.findIndex((other) => isSame(option, other)) === at &&
      all.filter((other) => isSame(option, other)).length >= MANY,
  )
}

const isSame = (a: Option, b: Option): boolean => a.flags === b.flags && a.description === b.description

const isIn = (options: readonly Option[], option: Option): boolean => options.some((other) => isSame(option, other))

function section(command: Command, heading: string, explained: readonly Option[]): string {
  const own = command.options.filter((option) => !isIn(explained, option))
  const above = command.options.filter(
    (option) => isIn(explained, option) && option.helpGroupHeading === undefined && option.long !== '--json',
  )
  const also = above.map(({ flags }) => `\`${flags.replace(/^-., /, '')}\``).join(', ')
  return [
    `${heading} ${nameOf(command)}\n`,
    `${escaped(command.description())}\n`,
    `\`\`\`sh\n${examplesOf(command).join('\n')}\n\`\`\`\n`,
    ...(own.length > 0 ? [optionTable(own)] : []),
    ...(also === '' ? [] : [`${own.length > 0 ? 'Also:' : 'Options:'} ${also}\n`]),
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
