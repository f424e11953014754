import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** A command as a shell completes it. */
interface Node {
  /** Words after `sluice`; none for the program itself. */
  readonly path: readonly string[]
  readonly words: readonly { readonly word: string; readonly about: string }[]
  /** Whether words end here, so that files may follow. */
  readonly leaf: boolean
}

/** A script that completes commands and options, made from the commands themselves. */
export function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program)
  return { bash, zsh, fish }[shell](program.name(), nodes)
}

function nodesOf(command: Command, path: readonly string[] = []): Node[] {
  const children = command.commands.filter((child) => child.name() !== 'help')
  const words = [
    ...children.map((child) => ({ word: child.name(), about: child.description() })),
    ...command.options.flatMap(({ long, description }) => (long ? [{ word: long, about: description }] : [])),
    { word: '--help', about: 'help' },
  ]
  return [
    { path, words, leaf: children.length === 0 },
    ...children.flatMap((child) => nodesOf(child, [...path, child.name()])),
  ]
}

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
  const words = nodes.map(
    ({ path, words: all }) =>
      `    ${quoted(path.map((word) => ` ${word}`).join(''))}) words=${quoted(all.map(({ word }) => word).join(' '))} ;;`,
  )
  return `# bash completion for ${name}: eval "$(${name} completion bash)"
_${name}() {
${BASH_PATH.replace('PATHS', paths.join('\n'))}
  local words=""
  case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`
}

function zsh(name: string, nodes: readonly Node[]): string {
  const paths = nodes
    .filter(({ path }) => path.length > 0)
    .map(({ path }) => `      ${quoted(` ${path.join(' ')}`)}) path_="$path_ $word" ;;`)
  const words = nodes.map(({ path, words: all, leaf }) => {
    const described = all.map(({ word, about }) => quoted(`${word}:${about.replaceAll(':', '\\:')}`)).join(' ')
    return `    ${quoted(path.map((word) => ` ${word}`).join(''))}) described=(${described}); files=${leaf ? 1 : 0} ;;`
  })
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
  _describe ${name} described
  if (( files )); then _files; fi
}
compdef _${name} ${name}
`
}

function fish(name: string, nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, words }) =>
    words.map(({ word, about }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
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
`
}

/** For a POSIX shell; fish reads it the same way but for a backslash, which no description has. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
