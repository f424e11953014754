import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Command, Option } from 'commander'
import type { ItemFields } from '../../lambda/config-table/items/stored-names'
import type { ItemKind } from '../../provisioning/item-kinds'
import { filesIn, textOf } from './code'

/** What users of a checkout can name: a sorted line for each. */
export interface Reference {
  /** What the entry points but the constructs' export, their members and signatures, as docs/api has them. */
  readonly exports: readonly string[]
  /** The same of the constructs and their props. */
  readonly constructs: readonly string[]
  /** Commands with their arguments, and each with its options. */
  readonly commands: readonly string[]
  /** Fields of the tiers file and of items of the config table. */
  readonly fields: readonly string[]
}

/** The reference of the checkout in a folder, whose packages are installed. */
export function referenceOf(root: string): Reference {
  const pages = filesIn(join(root, 'docs', 'api'), /\.md$/)
  const exportsOf = (page: string) => {
    const entry = page.replace(/\.md$/, '').replace('.', '/')
    return exportsOn(textOf(root, 'docs', 'api', page)).map((line) => `${entry}: ${line}`)
  }
  return {
    exports: pages
      .filter((page) => page !== 'sluice.md')
      .flatMap(exportsOf)
      .sort(),
    constructs: exportsOf('sluice.md').sort(),
    commands: commandsOf(root).sort(),
    fields: fieldsOf(root).sort(),
  }
}

/**
 * The exports on a page of docs/api: `name`, `name: signature`, `name.member: type`. A union of strings is a line for
 * each. Sentences are left out.
 */
export function exportsOn(page: string): string[] {
  return page
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const name = nameIn(section.slice(0, section.indexOf('\n')))
      return [name, ...signaturesIn(section, name), ...propertiesIn(section, name)]
    })
}

/** A heading without `abstract`, parentheses and parameters of types. */
const nameIn = (heading: string): string => heading.replace(/`[^`]*` /, '').replace(/(\(\)|\\<.*)$/, '')

/** Blocks right below the heading of an export or of a member; others are examples. */
function signaturesIn(section: string, name: string): string[] {
  let member = ''
  return section.split(/^(?=#{3,5} )/m).flatMap((part) => {
    const [, heading] = /^#### (.+)/.exec(part) ?? []
    if (heading !== undefined) member = `.${nameIn(heading)}`
    const [, code] = /^.+\n\n```ts\n([\s\S]*?)\n```/.exec(part) ?? []
    return code === undefined
      ? []
      : alternativesOf(code.replaceAll(/\s+/g, ' ')).map((one) => `${name}${member}: ${one}`)
  })
}

/** `type A = "b" | "c";` as a line for each string. */
function alternativesOf(signature: string): string[] {
  const [, alternatives] = /^type [^=]+= \|? ?("[^"]*"(?: \| "[^"]*")+);$/.exec(signature) ?? []
  return alternatives?.split(' | ') ?? [signature]
}

/** The rows of tables of properties and of a type's declaration: `name.property?: type`. */
function propertiesIn(section: string, name: string): string[] {
  const tables = [...section.matchAll(/^\| (?:Property|Name) .*\n\|[ -|]+\n((?:\|.*\n?)+)/gm)]
  return tables.flatMap(([, rows]) =>
    rows!
      .trim()
      .split('\n')
      .map((row) => {
        const [property, type] = row.slice(1).split(/(?<!\\)\|/)
        return `${name}.${plain(property!)}: ${plain(type!)}`
      }),
  )
}

/** A cell without links, code marks and escapes. */
const plain = (cell: string): string =>
  cell
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`\\]/g, '')
    .replace(/^ *\| /, '') // of a union
    .replaceAll(/ +/g, ' ')
    .trim()

/** The command line of a checkout, which prints by a function. */
export function programOf(root: string, print: (text: string) => void = () => {}): Command {
  const { Session } = require(join(root, 'cli', 'command')) as typeof import('../../cli/command')
  const { buildProgram } = require(join(root, 'cli', 'program')) as typeof import('../../cli/program')
  const { Interrupts } = require(join(root, 'cli', 'terminal', 'io')) as typeof import('../../cli/terminal/io')
  const output = { write: print, columns: 100 }
  const io = { stdin: new PassThrough(), stdout: output, stderr: output, env: {}, clock: Date.now }
  return buildProgram(new Session({ ...io, interrupts: new Interrupts() }, '0'))
}

/** `tiers apply [file]`, and `tiers apply --force` for each option. */
export function commandsOf(root: string): string[] {
  const linesOf = (command: Command, group: string): string[] => {
    const name = `${group}${command.name()}`
    if (command.commands.length > 0) return command.commands.flatMap((one) => linesOf(one, `${name} `))
    const args = command.registeredArguments.map(
      (one) => ` ${one.required ? `<${one.name()}>` : `[${one.name()}]`}${choicesOf(one)}`,
    )
    return [`${name}${args.join('')}`, ...command.options.map((option) => `${name} ${optionLine(option)}`)]
  }
  return programOf(root).commands.flatMap((command) => linesOf(command, ''))
}

const optionLine = (option: Option): string =>
  `${option.flags}${choicesOf(option)}${option.mandatory ? ' (required)' : ''}`

const choicesOf = ({ argChoices }: { readonly argChoices?: readonly string[] }): string =>
  argChoices ? ` (${argChoices.join(', ')})` : ''

type Inner = NonNullable<ItemKind['inner']>[string]

/** `tier.policies[].limit`; with `?` where it may be left out, and with the name under which it is stored. */
function fieldsOf(root: string): string[] {
  const { ITEM_KINDS } = require(
    join(root, 'provisioning', 'item-kinds'),
  ) as typeof import('../../provisioning/item-kinds')
  const { FILE_FIELDS } = require(
    join(root, 'lambda', 'config-table', 'items', 'parse-tiers-file'),
  ) as typeof import('../../lambda/config-table/items/parse-tiers-file')
  const kinds: Readonly<Record<string, ItemKind>> = ITEM_KINDS
  return [
    ...linesOf('file', FILE_FIELDS),
    ...Object.entries(kinds).flatMap(([kind, { fields, inner = {} }]) => [
      ...linesOf(kind, fields),
      ...Object.entries(inner).flatMap(([field, rules]) => innerLines(`${kind}.${field}`, rules)),
    ]),
    ...overrideFields(root).map((field) => `client.overrides{}.${field}`),
  ]
}

const linesOf = (place: string, rules: ItemFields): string[] =>
  Object.entries(rules).map(
    ([field, { optional, storedAs }]) =>
      `${place}.${field}${optional ? '?' : ''}${storedAs ? ` (stored as ${storedAs})` : ''}`,
  )

function innerLines(place: string, inner: Inner): string[] {
  if ('object' in inner) return linesOf(place, inner.object)
  if ('mapOf' in inner) return linesOf(`${place}{}`, inner.mapOf)
  if (!('tag' in inner)) return linesOf(`${place}[]`, inner.listOf)
  return Object.entries(inner.listOf).flatMap(([word, rules]) => linesOf(`${place}[${word}]`, rules))
}

/** The fields of a client's override, which no kind of item lists. */
function overrideFields(root: string): string[] {
  const text = textOf(root, 'lambda', 'config-table', 'items', 'client-item.ts')
  const [, rules] = /^(?:export )?const OVERRIDE_FIELDS = \{\n([\s\S]*?)\n\}/m.exec(text)!
  return [...rules!.matchAll(/^ {2}(\w+):/gm)].map(([, field]) => field!)
}
