import { execFileSync } from 'node:child_process'
import type { Command } from 'commander'
import { Session } from '../../cli/command'
import { buildProgram } from '../../cli/program'
import { completionScript } from '../../cli/terminal/completion'
import { blocksOf, PAGES, readPage } from './snippets/blocks'
import { commandsIn } from './snippets/commands'

const program = buildProgram(new Session({ env: {}, stdout: {}, stderr: {} } as never, '0.0.0'))

/** Every command line of the pages, in blocks and in sentences: `npx sluice tiers apply tiers.yaml`. */
const LINES = PAGES.flatMap((page) => {
  const blocks = blocksOf(page).filter(({ language }) => language === 'sh')
  const mentions = [...readPage(page).matchAll(/`((?:npx )?sluice [^`\n]+)`/g)].map(([, code]) => code!)
  return [...blocks.map(({ text }) => text), ...mentions].flatMap(commandsIn)
}).filter(([first, second]) => first === 'sluice' || (first === 'npx' && second === 'sluice'))

/** A word of a command line that is not the reader's own, half typed. */
interface Typed {
  readonly words: readonly string[]
  readonly word: string
}

function typedIn(line: readonly string[]): Typed[] {
  const start = line.indexOf('sluice')
  let command: Command = program
  return line.flatMap((written, i) => {
    const word = written.split('=')[0]!
    const typed = { words: [...line.slice(0, i), word.slice(0, Math.max(2, word.length / 2))], word }
    if (i < start || written.includes('…')) return []
    if (i === start) return i === 0 ? [] : [typed]
    const child = command.commands.find((one) => one.name() === word)
    command = child ?? command
    const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
    return child || word.startsWith('--') || choices.includes(word) ? [typed] : []
  })
}

/** What bash offers for each of these, in one run. */
function offered(all: readonly Typed[]): string[][] {
  const quoted = (words: readonly string[]) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const calls = all.map(({ words }) => {
    const name = words[0] === 'npx' ? '_npx_sluice' : '_sluice'
    return `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; ${name}; echo "\${COMPREPLY[*]}"`
  })
  const script = [completionScript(program, 'bash'), ...calls].join('\n')
  const lines = execFileSync('bash', { input: script, encoding: 'utf8' }).split('\n')
  return all.map((_, i) => lines[i]!.split(' '))
}

test('every command line of the README and the docs completes word by word', () => {
  const all = LINES.flatMap(typedIn)
  expect(all.length).toBeGreaterThan(200)
  const words = offered(all)
  const missing = all.filter(({ word }, i) => !words[i]!.includes(word))
  expect(missing.map((one) => [...one.words.slice(0, -1), one.word].join(' '))).toEqual([])
})
