import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, isAbsolute, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Option } from 'commander'
import { wholeNumber } from '../arguments'
import { type AddCommand, describeCommand, type Session } from '../command'
import { InterruptedError, UserError } from '../exit'
import {
  isKept,
  isWithoutProgram,
  type Manifest,
  type Project,
  projectCommands,
  starterProject,
} from '../starter/project'
import { CALLERS, hasTiersFile, type Starter, starterLines, starterTiers, TARGETS } from '../starter/starter'

const MAX_UNITS = 1_000_000_000

interface Options {
  readonly for?: Starter['target']
  readonly express?: true
  readonly callers?: Starter['callers']
  readonly limit?: number
  readonly file: string
  readonly force?: boolean
}

export const addInit: AddCommand = (group, session) => {
  describeCommand(
    group,
    'init',
    'Write a tiers file, and in an empty folder a CDK app or server. Asks what options leave open.',
    ['sluice init', 'sluice init --express', 'sluice init --for cdk --callers api-key --limit 60'],
  )
    .addOption(
      new Option(
        '--for <what>',
        'an API of your CDK app, an existing HTTP API, a server, or the library in a program',
      ).choices(TARGETS),
    )
    .addOption(new Option('--express', 'short for --for express').implies({ for: 'express' }))
    .addOption(new Option('--callers <how>', 'how callers are identified').choices(CALLERS))
    .option('--limit <number>', 'requests a minute of each caller', wholeNumber(1, MAX_UNITS))
    .option('--file <file>', 'the tiers file to write', 'tiers.yaml')
    .option('--force', 'overwrite the file')
    .action(async (options: Options) => {
      const { file, force = false } = options
      if (options.express && options.for !== 'express') {
        throw new UserError(`nothing was written: --express means --for express, got --for ${options.for} as well`)
      }
      if (options.for === undefined || hasTiersFile({ target: options.for })) checkNew(file, force)
      const starter = await complete(options, session)
      const project = inEmptyFolder(starter, file, session.version)
      const files = project ?? (hasTiersFile(starter) ? { [file]: starterTiers(starter) } : {})
      const wanted = Object.keys(files).filter((name) => !isKept(name) || !existsSync(name))
      const replaced = (name: string) => force || name === MANIFEST
      for (const name of wanted) checkNew(name, replaced(name))
      for (const name of wanted) {
        write(name, files[name]!, replaced(name))
        session.print.note(`written: ${name}`)
      }
      session.print.file(project ? `${projectCommands(starter, file)}\n` : starterLines(starter, file))
    })
}

const MANIFEST = 'package.json'

/** The project that fills a folder without a program, if what is asked for is one, and its tiers lie in it. */
function inEmptyFolder(starter: Starter, tiersFile: string, version: string): Project | undefined {
  const names = readdirSync('.')
  if (!isWithoutProgram(names) || isAbsolute(tiersFile) || basename(tiersFile) !== tiersFile) return undefined
  const manifest = names.includes(MANIFEST) ? readManifest() : {}
  const name =
    basename(resolve('.'))
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'limited-api'
  return starterProject(starter, { name, tiersFile, version, manifest })
}

function readManifest(): Manifest {
  try {
    return JSON.parse(readFileSync(MANIFEST, 'utf8'))
  } catch (error) {
    throw new UserError(`nothing was written: ${MANIFEST} could not be read: ${(error as Error).message}`)
  }
}

function checkNew(file: string, force: boolean): void {
  if (!force && existsSync(file)) throw new UserError(taken(file))
}

const taken = (file: string): string =>
  `nothing was written: file ${file} already exists: choose another with --file, or overwrite it with --force`

function write(file: string, text: string, force: boolean): void {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UserError(code === 'EEXIST' ? taken(file) : `nothing was written: ${message}`)
  }
}

interface Question {
  readonly option: string
  readonly text: string
  /** Taken for an empty line. */
  readonly otherwise: string
  /** What an answer means; `undefined` for none that is possible. */
  read(answer: string): string | number | undefined
}

const chosen = (choices: readonly string[]) => (answer: string) =>
  choices.find((choice) => choice === answer) ?? choices[Number(answer) - 1]

const QUESTIONS = {
  target: {
    option: `--for ${TARGETS.join('|')}`,
    text: 'What do you protect? 1 cdk: an API of your CDK app, 2 http-api: an existing HTTP API, 3 express: a server, 4 library: work of a program',
    otherwise: 'cdk',
    read: chosen(TARGETS),
  },
  callers: {
    option: `--callers ${CALLERS.join('|')}`,
    text: 'What tells callers apart? 1 api-key: keys that Sluice makes, 2 address: the IP address',
    otherwise: 'api-key',
    read: chosen(CALLERS),
  },
  limit: {
    option: '--limit NUMBER',
    text: 'How many requests a minute may each caller send?',
    otherwise: '60',
    read: (answer) => (/^[1-9]\d{0,8}$/.test(answer) ? Number(answer) : undefined),
  },
} as const satisfies Record<keyof Starter, Question>

/** Asks what the options do not say. */
async function complete({ for: target, callers, limit }: Options, { io }: Session): Promise<Starter> {
  const answers: Partial<Record<keyof Starter, string | number>> = { target, callers, limit }
  const open = (Object.keys(QUESTIONS) as (keyof Starter)[]).filter((name) => answers[name] === undefined)
  if (open.length === 0) return answers as unknown as Starter
  if (io.stdin.isTTY !== true) {
    const options = open.map((name) => QUESTIONS[name].option).join(', ')
    throw new UserError(`nothing was written: no terminal for questions, set ${options}`)
  }
  const input = createInterface({ input: io.stdin, terminal: false })
  const lines = input[Symbol.asyncIterator]()
  try {
    return await io.interrupts.during(async (pressed) => {
      const stopped = new Promise<never>((_, reject) => {
        pressed.addEventListener('abort', () => reject(new InterruptedError(['', 'nothing was written'])), {
          once: true,
        })
      })
      for (const name of open) {
        const { text, otherwise, read }: Question = QUESTIONS[name]
        while (answers[name] === undefined) {
          io.stderr.write(`${text} [${otherwise}] `)
          const { value, done } = await Promise.race([lines.next(), stopped])
          if (done) throw new UserError(['', 'nothing was written'])
          answers[name] = read(String(value).trim() || otherwise)
        }
      }
      return answers as unknown as Starter
    })
  } finally {
    input.close()
  }
}
