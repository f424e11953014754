import { isDeepStrictEqual } from 'node:util'
import type { OutputOptions, Session } from '../command'
import { EXIT, type ExitCode, failureOf, InterruptedError, ServiceError, UserError } from '../exit'
import { printed } from '../facade/values'
import { counted } from '../terminal/output'
import { confirm } from '../terminal/question'
import { kindText } from './api-state'
import { findApi } from './find-api'
import { type ListedApi, listApis, withTags } from './list-apis'
import { openApi, withAws } from './open'
import { type AttachRequest, type PlannedAttach, planOne } from './plan-one'

/** Which APIs, and what is to be done with each. */
export interface ManyOptions extends OutputOptions, AttachRequest {
  readonly tag?: readonly string[]
  readonly except?: readonly string[]
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** What became of one API. `planned`: nothing was done, because nothing was to be, or because of Ctrl-C. */
type Outcome = 'attached' | 'already attached' | 'planned' | 'failed'

interface Entry {
  readonly api: ListedApi
  readonly planned?: PlannedAttach
  readonly outcome: Outcome
  readonly error?: string
  readonly code?: ExitCode
}

/** Options that are about the methods or the name of one API. */
const FOR_ONE = ['methods', 'open', 'as'] as const

/**
 * Attaches Sluice to many APIs: plans for all of them, one question, and then one after another, since API Gateway's
 * control plane allows few calls. An API that fails is told and restored; the others go on.
 */
export async function attachMany(session: Session, options: ManyOptions): Promise<void> {
  const wrong = FOR_ONE.find((name) => options[name] !== undefined)
  if (wrong !== undefined) throw new UserError(`--${wrong} is for one API: it does not go with --all or --tag`)
  await withAws(session, options, async (aws) => {
    const table = await aws.connection.configTable()
    const apis = choose(await listApis(aws), options)
    const plan = async ({ id, kind }: ListedApi) => {
      const control = await findApi(id, aws, aws.calls)
      // headers are for HTTP APIs, and an error where one API of another kind is meant
      const wanted = kind === 'HTTP' ? options : { ...options, headers: undefined }
      return planOne(session, id, wanted, await openApi({ ...aws, control }, table, id))
    }
    const entries: Entry[] = []
    for (const api of apis) {
      const entry = await attempt(api, async () => {
        const planned = await plan(api)
        return { planned, outcome: planned.isDue ? 'planned' : 'already attached' }
      })
      entries.push(entry)
      if (!options.json) printPlanned(session, entry)
    }
    const due = entries.filter(({ outcome }) => outcome === 'planned')
    if (options.dryRun || due.length === 0) {
      report(session, options, entries)
      return
    }
    await confirm(questionFor(due), session.io, options)
    const done = await session.io.interrupts.during(async (pressed) => {
      const results: Entry[] = []
      for (const entry of entries) {
        const isNext = entry.outcome === 'planned' && !pressed.aborted
        results.push(isNext ? await attempt(entry.api, () => carryOut(entry, plan)) : entry)
      }
      return results
    })
    report(session, options, done)
  })
}

function choose(all: readonly ListedApi[], { tag = [], except = [] }: ManyOptions): ListedApi[] {
  const unknown = except.filter((id) => !all.some((api) => api.id === id))
  if (unknown.length > 0) throw new UserError(`--except names ${unknown.join(', ')}, but this Region has no such API`)
  const chosen = withTags(all, tag).filter(({ id }) => !except.includes(id))
  if (chosen.length === 0)
    throw new UserError(`no API of this Region ${tag.length > 0 ? `has the tag ${tag.join(' and ')}` : 'is left'}`)
  return chosen
}

/** Plans again, since the question may have stood for long, and does what was agreed to. */
async function carryOut(
  { api, planned }: Entry,
  plan: (api: ListedApi) => Promise<PlannedAttach>,
): Promise<Pick<Entry, 'planned' | 'outcome'>> {
  const now = await plan(api)
  if (!isDeepStrictEqual(partsOf(now), partsOf(planned!)))
    throw new UserError('it was changed after the plan was shown, so nothing was done: look at it again')
  await now.run()
  return { planned: now, outcome: 'attached' }
}

const partsOf = ({ run: _, ...parts }: PlannedAttach) => parts

async function attempt(api: ListedApi, work: () => Promise<Pick<Entry, 'planned' | 'outcome'>>): Promise<Entry> {
  try {
    return { api, ...(await work()) }
  } catch (error) {
    const { code, message } = failureOf(error)
    return { api, outcome: 'failed', error: message, code }
  }
}

function printPlanned({ print }: Session, { api, planned, error }: Entry): void {
  if (!planned) {
    print.line(`${kindText(api.kind)} API ${api.id} ${printed(api.name)}: cannot be attached: ${error}`)
    return
  }
  print.line(planned.isDue ? planned.title : `${planned.title}: already attached`)
  for (const step of planned.steps) print.line(`  ${step}`)
  for (const note of [...planned.notes, ...planned.pendingLines]) print.note(`  ${note}`)
}

function questionFor(due: readonly Entry[]): string {
  const open = due.flatMap(({ api, planned }) => planned!.open.map((key) => `${key} of ${api.id}`))
  const apis = `${counted(due.length, 'API')}: ${due.map(({ api }) => api.id).join(', ')}`
  return `Attach Sluice to ${apis}${open.length > 0 ? `, and open ${open.join(', ')}` : ''}?`
}

/** @throws an error where an API failed, or was not begun because of Ctrl-C. */
function report({ print }: Session, options: ManyOptions, entries: readonly Entry[]): void {
  const isDone = options.dryRun !== true
  if (options.json)
    print.json(
      entries.map(({ api: { id: apiId, name, kind }, planned, outcome, error }) => ({
        ...{ apiId, name, kind, outcome, error },
        ...(planned && { stage: planned.stage, steps: planned.steps, notes: planned.notes, pending: planned.pending }),
      })),
    )
  else if (isDone) for (const { api, outcome } of entries) print.line(`${api.id} ${printed(api.name)}: ${outcome}`)
  if (!isDone && !options.json) print.note('dry run: nothing was changed')
  const failed = entries.filter(({ outcome }) => outcome === 'failed')
  const left = isDone ? entries.filter(({ outcome }) => outcome === 'planned') : []
  if (failed.length + left.length === 0) return
  const lines = [
    `${failed.length + left.length} of ${counted(entries.length, 'API')} ${isDone ? 'are not' : 'cannot be'} attached`,
    ...failed.map(({ api, error }) => `${api.id} ${printed(api.name)}: ${error}`),
    ...left.map(({ api }) => `${api.id} ${printed(api.name)}: not begun`),
  ]
  const isStopped = left.length > 0 || failed.some(({ code }) => code === EXIT.interrupted)
  if (isStopped) throw new InterruptedError(lines)
  throw failed.some(({ code }) => code === EXIT.service) ? new ServiceError(lines) : new UserError(lines)
}
