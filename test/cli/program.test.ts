import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { examplesOf, Session } from '../../cli/command'
import { buildProgram } from '../../cli/program'
import { reference } from '../../cli/reference'
import { completionScript, SHELLS } from '../../cli/terminal/completion'
import { Interrupts } from '../../cli/terminal/io'
import { duration, Printer } from '../../cli/terminal/output'
import { formatMarkdown } from '../../lib/format-markdown'
import { startEngine } from '../../local/engines/start-engine'
import { deploy, sluice, TIERS } from './command-line'

const nowhere = { write: () => true }
const io = {
  stdin: new PassThrough(),
  stdout: nowhere,
  stderr: nowhere,
  env: {},
  clock: Date.now,
  interrupts: new Interrupts(),
}
const program = buildProgram(new Session(io, '1.2.3'))
const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
const leaves = leavesOf(program)

const ALL = [
  ...['init', 'dev', 'import usage-plans', 'attach', 'detach', 'status', 'completion'],
  ...[
    'tiers list',
    'tiers get',
    'tiers validate',
    'tiers diff',
    'tiers apply',
    'tiers rollback',
    'tiers export',
    'tiers split',
    'tiers schema',
  ],
  ...[
    'clients create',
    'clients get',
    'clients list',
    'clients set',
    'clients rotate-key',
    'clients disable',
    'clients delete',
    'clients import',
    'clients export',
  ],
  ...['apis list', 'apis label', 'apis remove', 'block add', 'block remove', 'block list', 'block export', 'simulate'],
  ...['top', 'usage', 'peek', 'whois', 'refund', 'reset', 'forget'],
  ...['off', 'on', 'observe', 'history', 'doctor'],
  ...['hmac-key status', 'hmac-key enable', 'hmac-key carry', 'hmac-key purge', 'hmac-key rotate'],
  ...['signing-key status', 'signing-key rotate', 'signing-key remove'],
]
const nameOf = (command: Command): string =>
  [command.parent?.parent ? command.parent.name() : '', command.name()].join(' ').trim()

describe('every command', () => {
  it('is registered', () => {
    expect(leaves.map(nameOf)).toEqual(ALL)
  })

  it.each(leaves.map((leaf) => [nameOf(leaf), leaf] as const))(
    '%s has --help with examples of itself',
    async (name, leaf) => {
      const { code, out, err } = await sluice([...name.split(' '), '--help'])
      expect([code, err]).toEqual([0, ''])
      expect(examplesOf(leaf).length).toBeGreaterThan(0)
      for (const example of examplesOf(leaf)) {
        expect(out).toContain(`$ ${example}`)
        expect(example).toContain(`sluice ${name}`)
      }
    },
  )

  const parents = [program, ...program.commands.filter(({ commands }) => commands.length > 0)]
  it.each(parents.map((one) => [one.name(), one] as const))(
    'has one line on 80 columns in the --help of %s',
    (_, parent) => {
      const help = parent.createHelp()
      help.prepareContext({ helpWidth: 80 })
      const lines = help.formatHelp(parent, help).split('\n')
      const own = lines.slice(lines.findIndex((line) => line.includes('--help')) + 1)
      expect(own.filter((line) => line.startsWith(' ')).map((line) => line.trim().split(' ')[0])).toEqual(
        parent.commands.map((one) => one.name()),
      )
      expect(Math.max(...own.map((line) => line.length))).toBeLessThanOrEqual(80)
    },
  )

  it('is in one of five groups of --help', async () => {
    const { out } = await sluice(['--help'])
    expect(out.match(/^\w.*:$/gm)).toEqual(['Options:', 'Set up:', 'Limits:', 'Callers:', 'Operation:', 'Secrets:'])
    expect(program.commands).toHaveLength(26)
  })

  it('is documented in docs/cli.md, which is up to date', () => {
    const docs = readFileSync(join(__dirname, '../../docs/cli.md'), 'utf8')
    expect(docs).toBe(formatMarkdown(reference(program))) // npm run docs:cli
    for (const name of ALL) expect(docs).toMatch(new RegExp(`^##+ ${name}( |$)`, 'm'))
  })
})

describe('the command line', () => {
  it.each([
    [['tier', 'list'], "error: unknown command 'tier'\n(Did you mean tiers?)\n"],
    [['tiers', 'list', '--jsn'], "error: unknown option '--jsn'\n(Did you mean --json?)\n"],
    [['tiers', 'get'], "error: missing required argument 'name'\n"],
    [
      ['completion', 'tcsh'],
      "error: command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.\n",
    ],
    [
      ['tiers', 'list', '--endpoint', 'localhost:8000'],
      '--endpoint must be a URL such as http://localhost:8000, got "localhost:8000"\n',
    ],
  ])('%j ends with exit code 1', async (args, err) => {
    expect(await sluice(args)).toEqual({ code: 1, out: '', err })
  })

  it('takes the shared options before a command, before its group’s, or after it, which counts', async () => {
    const at = await deploy()
    await at.put(...TIERS)
    const where = ['--endpoint', at.endpoint]
    const usual = await sluice(['tiers', 'get', 'free', '--json', ...where])
    expect([usual.code, JSON.parse(usual.out)]).toEqual([0, expect.objectContaining({ policies: expect.anything() })])
    for (const args of [
      ['--json', ...where, 'tiers', 'get', 'free'],
      ['tiers', '--json', ...where, 'get', 'free'],
      [...where, 'tiers', '--json', 'get', 'free'],
      [...where, '--table', 'nowhere', 'tiers', '--json', 'get', 'free', '--table', 'sluice-config'],
    ])
      expect([args, await sluice(args)]).toEqual([args, usual])
    await sluice(['-y', ...where, 'off'])
    expect((await sluice(['on', ...where])).out).toContain('limits are on again')
    await at.close()
  })

  it.each([
    [['--json', 'tiers', 'schema'], '--json'],
    [['tiers', '--table', 'a', 'schema'], '--table'],
    [['--yes', 'doctor-not', 'x'], undefined],
    [['--yes', 'usage', 'x'], '--yes'],
  ])('refuses an option before a command that has none such: %j', async (args, option) => {
    const error = option === undefined ? /unknown command/ : new RegExp(`^error: unknown option '${option}'\n`)
    expect(await sluice(args)).toEqual({ code: 1, out: '', err: expect.stringMatching(error) })
  })

  it.each(program.commands.map((one) => [one.name(), one] as const))(
    'is built for one command as in the whole tree: %s',
    (name, whole) => {
      const { commands } = buildProgram(new Session(io, '1.2.3'), name)
      const alone = commands.find((one) => one.name() === name)!
      if (name !== 'completion') expect(commands).toHaveLength(1)
      const helpOf = (one: Command) => leavesOf(one).map((leaf) => leaf.helpInformation())
      expect([alone.helpInformation(), ...helpOf(alone)]).toEqual([whole.helpInformation(), ...helpOf(whole)])
    },
  )

  it('prints its version', async () => {
    expect(await sluice(['--version'])).toEqual({ code: 0, out: '1.2.3\n', err: '' })
  })

  it('distinguishes a missing table from an unreachable service', async () => {
    const at = await deploy(await startEngine({}))
    const missing = await at.sluice(['tiers', 'list', '--table', 'nowhere'])
    const noState = await at.sluice(['usage', 'global', '--state-table', 'nowhere'])
    await at.put(...TIERS)
    const state = await at.sluice(['usage', 'ip:1.2.3.4', '--state-table', 'nowhere'])
    await at.close()
    expect(missing).toEqual({
      code: 1,
      out: '',
      err: 'there is no table "nowhere" here: name it with --table or SLUICE_CONFIG_TABLE, or use --stack\n',
    })
    expect(noState.err).toBe('global has no policies\n')
    expect(state).toEqual({
      code: 1,
      out: '',
      err: 'there is no table "nowhere" here: name it with --state-table or SLUICE_STATE_TABLE\n',
    })
    const away = await at.sluice(['tiers', 'list'])
    expect([away.code, away.err]).toEqual([2, expect.stringMatching(/^the service failed: connect ECONNREFUSED .*\n$/)])
  })

  it('uses colours only on a terminal without NO_COLOR', async () => {
    const at = await deploy()
    await at.put(...TIERS)
    const usage = (situation: object) => at.sluice(['usage', 'ip:1.2.3.4'], situation)
    expect((await usage({ terminal: true })).out).toContain('\u001b[1mpolicy')
    for (const plain of [{}, { terminal: true, env: { NO_COLOR: '1' } }, { terminal: true, env: { TERM: 'dumb' } }]) {
      expect((await usage(plain)).out).not.toContain('\u001b')
    }
    await at.put({ pk: 'client#1', sk: 'client', id: 'evil\u001b[2J', tier: 'free' })
    expect((await at.sluice(['clients', 'list'])).out).toContain('evil\\u001b[2J')
    await at.close()
  })
})

describe('completion', () => {
  const complete = (line: string) => {
    const words = line.split(' ')
    const script = `${completionScript(program, 'bash')}
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
      _\${1}sluice; printf '%s\\n' "\${COMPREPLY[@]}"`
    const function_ = words[0] === 'npx' ? 'npx_' : ''
    return execFileSync('bash', ['-c', script, 'bash', function_], { encoding: 'utf8' }).trim().split('\n').sort()
  }

  it.each([
    ['sluice cl', ['clients']],
    ['sluice clients re', ['']],
    ['sluice clients ro', ['rotate-key']],
    ['sluice clients rotate-key acme --g', ['--grace']],
    [
      'sluice tiers apply tiers.yaml --',
      [
        '--endpoint',
        '--force',
        '--help',
        '--json',
        '--limiter',
        '--prune',
        '--region',
        '--stack',
        '--state-table',
        '--table',
        '--yes',
      ],
    ],
    ['sluice completion z', ['zsh']],
    ['sluice block export --ip-version ', ['4', '6']],
    ['npx slu', ['sluice']],
    ['npx sluice clients ro', ['rotate-key']],
    ['npx another clients ro', ['']],
    ['sluice tiers ', ['--help', 'apply', 'diff', 'export', 'get', 'list', 'rollback', 'schema', 'split', 'validate']],
  ])('in bash of "%s" is %j', (line, words) => {
    expect(complete(line)).toEqual(words)
  })

  it.each(SHELLS)('for %s has every command and option', (shell) => {
    const script = completionScript(program, shell)
    for (const word of ALL.flatMap((name) => name.split(' '))) expect(script).toContain(word)
    for (const { long } of leaves.flatMap(({ options }) => options)) expect(script).toContain(long!.slice(2))
  })
})

describe('a printed duration', () => {
  it.each([
    [0, '-'],
    [1, '1 s'],
    [59_001, '1 min'],
    [90_000, '1 min 30 s'],
    [3_600_000 * 25 + 61_000, '1 d 1 h'],
    [Infinity, 'never'],
  ])('of %d ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })
})

describe('a bar', () => {
  const { bar } = { bar: (used: number, whole: number) => new Printer({ ...io, stdout: nowhere }).bar(used, whole, 4) }
  it.each([
    [0, 4, '░░░░'],
    [1, 100, '█░░░'],
    [99, 100, '███░'],
    [100, 100, '████'],
    [120, 100, '████'],
    [0, 0, '░░░░'],
  ])('for %d of %d is %s', (used, whole, text) => {
    expect(bar(used, whole)).toBe(text)
  })
})
