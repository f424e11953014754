import type { Command, Option } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** A command as a shell completes it. */
interface Node {
  /** Words after `sluice`; none for the program itself. */
  readonly path: readonly string[]
  readonly words: readonly Word[]
  /** Options, `--ip-version`, and the values that one can have. */
  readonly values: readonly { readonly option: string; readonly words: readonly Word[] }[]
  /** Whether words end here, so that files may follow. */
  readonly leaf: boolean
}

interface Word {
  readonly word: string
  readonly about: string
}

/**
 * A script that completes commands, options, and values of which there are few, made from the commands themselves;
 * also behind `npx`, unless something else completes that. Names of tiers and clients are not completed: each Tab would
 * ask a table.
 */
export function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program)
  return { bash, zsh, fish }[shell](program.name(), nodes)
}

function nodesOf(command: Command, path: readonly string[] = []): Node[] {
  const children = command.commands.filter((child) => child.name() !== 'help')
  const words = [
    ...children.map((child) => ({ word: child.name(), about: child.description() })),
    ...command.registeredArguments.flatMap(wordsOf),
    // what all commands share stands in no help of a group, and is offered before the first command
    ...command.options.flatMap(({ long, description, hidden }) =>
      long && (!hidden || path.length === 0) ? [{ word: long, about: description }] : [],
    ),
    { word: '--help', about: 'help' },
  ]
  const values = command.options.flatMap((option) =>
    option.long && option.argChoices ? [{ option: option.long, words: wordsOf(option) }] : [],
  )
  return [
    { path, words, values, leaf: children.length === 0 },
    ...children.flatMap((child) => nodesOf(child, [...path, child.name()])),
  ]
}

/** The values that an argument or an option can have, where they are few. */
const wordsOf = ({ argChoices = [], description }: Pick<Option, 'argChoices' | 'description'>): Word[] =>
  argChoices.map((word) => ({ word, about: description }))

/** The longest path of commands that the words before the cursor begin with. */
const BASH_PATH = `  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
PATHS
      *) ;;
    esac
  done`

function bash(name: string, nodes: readonly Node[]): string {
  const paths = nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `      ${quoted(` ${path.join(' ')}`)}) path="$path $word" ;;`)
  const words = nodes.map(({ path, words: all }) => `    ${quoted(spaced(path))}) words=${listed(all)} ;;`)
  const values = nodes.flatMap(({ path, values: all }) =>
    all.map(({ option, words: those }) => `    ${quoted(spaced([...path, option]))}) words=${listed(those)} ;;`),
  )
  return `# bash completion for ${name}: eval "$(${name} completion bash)"
_${name}() {
${BASH_PATH.replace('PATHS', paths.join('\n'))}
  local words=""
  case "$path" in
${words.join('\n')}
  esac
  case "$path \${COMP_WORDS[COMP_CWORD-1]}" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
_npx_${name}() {
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W ${name} -- "\${COMP_WORDS[1]}"))
  elif [[ "\${COMP_WORDS[1]}" == ${name} ]]; then
    COMP_WORDS=("\${COMP_WORDS[@]:1}")
    (( COMP_CWORD -= 1 ))
    _${name}
  fi
}
complete -p npx >/dev/null 2>&1 || complete -o default -F _npx_${name} npx
`
}

function zsh(name: string, nodes: readonly Node[]): string {
  const paths = nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `      ${quoted(` ${path.join(' ')}`)}) path_="$path_ $word" ;;`)
  const described = (all: readonly Word[]) =>
    all.map(({ word, about }) => quoted(`${word}:${about.replaceAll(':', '\\:')}`)).join(' ')
  const words = nodes.map(
    ({ path, words: all, leaf }) =>
      `    ${quoted(spaced(path))}) described=(${described(all)}); files=${leaf ? 1 : 0} ;;`,
  )
  const values = nodes.flatMap(({ path, values: all }) =>
    all.map(
      ({ option, words: those }) =>
        `    ${quoted(spaced([...path, option]))}) described=(${described(those)}); files=0 ;;`,
    ),
  )
  return `#compdef ${name}
# zsh completion for ${name}: eval "$(${name} completion zsh)"
_${name}() {
  local path_="" word files=0
  local -a described
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$path_ $word" in
${paths.join('\n')}
    esac
  done
  case "$path_" in
${words.join('\n')}
  esac
  case "$path_ \${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  _describe ${name} described
  if (( files )); then _files; fi
}
compdef _${name} ${name}
_npx_${name}() {
  if [[ "\${words[2]}" != ${name} ]]; then _default; return; fi
  shift words
  (( CURRENT-- ))
  _${name}
}
(( $+_comps[npx] )) || compdef _npx_${name} npx
`
}

function fish(name: string, nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, words, values }) =>
    words.map(({ word, about }) => {
      const those = values.find(({ option }) => option === word)?.words
      const value = those ? ` -x -a ${listed(those)}` : ''
      const what = word.startsWith('--') ? `-l ${word.slice(2)}${value}` : `-f -a ${word}`
      return `complete -c ${name} -n ${quoted(`__${name}_at ${path.join(' ')}`.trim())} ${what} -d ${quoted(about)}`
    }),
  )
  const all = nodes.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(' ')))
  return `# fish completion for ${name}: ${name} completion fish | source
function __${name}_at
    set -l path
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' $path $word) ${all.join(' ')}
            set path $path $word
        end
    end
    test "$path" = "$argv"
end
${lines.join('\n')}
complete -c npx -n 'contains -- ${name} (commandline -opc)[2]' -a '(__fish_complete_subcommand)'
`
}

/** Each word with a space in front. */
const spaced = (words: readonly string[]): string => words.map((word) => ` ${word}`).join('')

const listed = (words: readonly Word[]): string => quoted(words.map(({ word }) => word).join(' '))

/** For a POSIX shell; fish reads it the same way but for a backslash, which no description has. */
/** A text as a shell reads it, whatever is in it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
