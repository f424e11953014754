import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { EXIT, ServiceError, UserError } from '../cli/exit'
import { type Account, openAccount } from './account'
import { type Check, type Row, runChecks } from './check'
import { CHECKS } from './checks/index'
import { cleanUp, RUN_NAME } from './clean-up'
import { costText } from './costs'
import { type Deployment, deployAll, deployUnprotected } from './deployment'
import { pageOf, summaryOf, tableOf } from './report'
import { Clients, ROOT, Scene } from './scene'
import { UNCHECKED } from './unchecked'

const USAGE = `npm run acceptance -- [--yes] [--only ID,ID] [--clean NAME]

Deploys Sluice into the AWS account and Region of the credentials at hand, asks AWS what no emulator can tell, writes
docs/acceptance.md, and destroys what it deployed.

  --yes         do not ask
  --only ID,…   some checks: ${CHECKS.map(({ id }) => id).join(', ')}; nothing is saved
  --clean NAME  only destroy what is left of a run, by the name that it has printed`

const print = (text: string): void => void process.stderr.write(`${text}\n`)

/** What is saved, and where. */
const PAGE = join(ROOT, 'docs', 'acceptance.md')

async function main(): Promise<number> {
  // The SDK's advice is for services, not for users of a command.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  const { values } = parseArgs({
    options: {
      yes: { type: 'boolean', short: 'y' },
      only: { type: 'string' },
      clean: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) {
    process.stdout.write(`${USAGE}\n`)
    return EXIT.done
  }
  const checks = chosen(values.only)
  if (values.clean !== undefined && !RUN_NAME.test(values.clean))
    throw new UserError(
      `--clean must be the name of a run, sluice-acceptance- and 8 hexadecimal digits, got ${values.clean}`,
    )
  const isAsked = values.clean === undefined && !values.yes
  const account = await openAccount(process.env, isAsked && !process.stdin.isTTY ? [NOBODY] : [])
  const name = values.clean ?? `sluice-acceptance-${randomBytes(4).toString('hex')}`
  const place = `account ${account.id}, ${account.region}${account.isEmulator ? ' (an emulator: nothing will be saved)' : ''}`
  if (values.clean === undefined) {
    print(`Three stacks named ${name}-… will be created in ${place}, and destroyed again:\n${costText()}`)
    print('The CDK’s bucket keeps the code of the functions, some 2 MB, as after any deployment.')
    if (isAsked && !(await isConfirmed())) return EXIT.mistake
  }
  const stop = stopOnSignals()
  const clients = new Clients()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-acceptance-'))
  let rows: Row[] = []
  let failure: unknown
  try {
    if (values.clean === undefined) {
      const deployment = { name, folder, env: process.env, isEmulator: account.isEmulator, stop, print }
      rows = await deployAndCheck(deployment, account, clients, checks)
    }
  } catch (error) {
    failure = error
  }
  const left = await destroy(name, clients, account)
  clients.destroy()
  rmSync(folder, { recursive: true, force: true })
  if (left.length > 0)
    print(`NOT destroyed, and it costs money:\n  ${left.join('\n  ')}\nnpm run acceptance -- --clean ${name}`)
  else print(`nothing is left of ${name}`)
  if (stop.aborted) return EXIT.interrupted
  if (failure !== undefined) throw failure
  if (values.clean === undefined) report(rows, account, checks.length === CHECKS.length)
  if (left.length > 0) return EXIT.service
  return rows.some(({ finding }) => finding.verdict === 'differs') ? EXIT.gate : EXIT.done
}

function chosen(only: string | undefined): readonly Check[] {
  if (only === undefined) return CHECKS
  const ids = only.split(',')
  const unknown = ids.filter((id) => !CHECKS.some((check) => check.id === id))
  if (unknown.length > 0)
    throw new UserError(
      `--only must name checks, got ${unknown.join(', ')}, wanted some of: ${CHECKS.map(({ id }) => id).join(', ')}`,
    )
  return CHECKS.filter(({ id }) => ids.includes(id))
}

const NOBODY = 'nobody can be asked here: --yes says yes'

async function isConfirmed(): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await asking.question('Go on? [y/N] ')
  asking.close()
  return /^y(es)?$/i.test(answer.trim())
}

/** From now on Ctrl-C ends what is going on, and what was made is destroyed; it is said to whoever presses it again. */
function stopOnSignals(): AbortSignal {
  const controller = new AbortController()
  const press = () => {
    print(
      controller.signal.aborted
        ? 'it is being destroyed: wait, or it will cost money'
        : 'stopping: what was made is destroyed',
    )
    controller.abort(new Error('interrupted'))
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, press)
  return controller.signal
}

async function deployAndCheck(
  deployment: Deployment,
  account: Account,
  clients: Clients,
  checks: readonly Check[],
): Promise<Row[]> {
  const { name, env, stop } = deployment
  print(`deploying ${name}-…`)
  const outputs = await deployAll(deployment)
  const scene = new Scene(name, account, outputs, clients, env, () => deployUnprotected(deployment))
  const aborted = new Promise<never>((_, reject) => stop.addEventListener('abort', () => reject(stop.reason)))
  aborted.catch(() => {})
  const running = runChecks(checks, scene, stop, ({ check, finding }) => print(`${check.id}: ${finding.verdict}`))
  try {
    return await Promise.race([running, aborted])
  } finally {
    running.catch(() => {})
    scene.traffic.close()
  }
}

/** How often a stack that is being deleted is looked at. */
const POLL_MS = { aws: 5000, emulator: 500 } as const

async function destroy(name: string, clients: Clients, { isEmulator }: Account): Promise<string[]> {
  try {
    return await cleanUp(name, clients, print, isEmulator ? POLL_MS.emulator : POLL_MS.aws)
  } catch (error) {
    return [`whatever is called ${name}-…: ${error instanceof Error ? error.message : String(error)}`]
  }
}

function report(rows: readonly Row[], account: Account, isWhole: boolean): void {
  process.stdout.write(`${tableOf(rows)}\n\n${summaryOf(rows)}\n`)
  if (account.isEmulator) print('not saved: an emulator has answered, and not AWS')
  else if (!isWhole) print('not saved: only some checks ran')
  else {
    const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
    writeFileSync(PAGE, pageOf(rows, account, new Date(), UNCHECKED, commit))
    print(`saved as ${PAGE}`)
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const isOurs = error instanceof UserError || error instanceof ServiceError
    print(isOurs ? error.message : String((error as Error)?.stack ?? error))
    process.exit(error instanceof UserError || !isOurs ? EXIT.mistake : EXIT.service)
  },
)
