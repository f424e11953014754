import { gather, toMethodKey } from '../arguments'
import type { ApiControl, ApiState } from '../attach/api-state'
import { limiterGone } from '../attach/limiter-gone'
import { rejectOpening } from '../attach/losses'
import { type OpenedApi, withApi } from '../attach/open'
import { adviceText, ownerText, readsTable } from '../attach/other-sluice'
import { planDetach } from '../attach/plan-detach'
import { recover } from '../attach/recover'
import { methodsAfter, type RevertStep } from '../attach/revert-steps'
import { pendingText } from '../attach/run-attach'
import { runDetach } from '../attach/run-detach'
import { revertText } from '../attach/step-kinds'
import type { AttachJournal } from '../attach/steps'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { NoLimiterError } from '../tables/limiters'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly open?: readonly string[]
  readonly functionGone?: boolean
}

export const addDetach: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'detach <api-id>',
    'Remove Sluice from an API: restore what attach changed, and keep what others changed since.',
    [
      'sluice detach a1b2c3d4e5 --dry-run',
      'sluice detach a1b2c3d4e5 --yes',
      "sluice detach a1b2c3d4e5 --function-gone --open 'GET /pets'",
    ],
  )
    .option(
      '--open <method>',
      'let this method lose authentication: by another user’s undeployed edit, or, with --function-gone, because its former authorization is unknown; repeatable',
      gather,
    )
    .option(
      '--function-gone',
      'Sluice’s function was deleted: restore the API from the record in the config table, else from what the API shows',
    )
    .option('--dry-run', 'show what would be done without doing it')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (apiId: string, options: Options) => {
      if (options.functionGone && !(await isRecorded(session, options, apiId)))
        return recover(session, options, apiId, (options.open ?? []).map(toMethodKey))
      await withApi(
        session,
        options,
        apiId,
        (opened) => detach(session, apiId, options, opened),
        limiterGone(apiId, options),
      )
    })
}

/** Whether a config table that can be found has a journal of the API. */
async function isRecorded(session: Session, options: Options, apiId: string): Promise<boolean> {
  try {
    return await withApi(session, options, apiId, async ({ recorded }) => recorded !== undefined)
  } catch (error) {
    if (!(error instanceof NoLimiterError)) throw error
    return false
  }
}

async function detach(session: Session, apiId: string, options: Options, opened: OpenedApi): Promise<void> {
  const { control, journal, recorded, policyOf, label } = opened
  const { print, io } = session
  if (!recorded) {
    await rejectUnrecorded(apiId, opened)
    if (options.json) print.json({ apiId, detached: true, undone: [], changed: [] })
    else print.line(`API ${apiId} is not attached, nothing to do`)
    return
  }
  const policy = policyOf(recorded.attachment.functionArn)
  const state = await control?.read()
  const { reverts, changed, notes } = planDetach(state, recorded, await policy.statements(), await label.read())
  const pending = await pendingOf(control, state, recorded, reverts, (options.open ?? []).map(toMethodKey))
  const { open } = pending
  const texts = reverts.map((step) => revertText(step, state?.authorizers))
  if (!options.json) {
    for (const text of texts) print.line(`  ${text}`)
    for (const sentence of changed) print.note(`changed since attach, and kept: ${sentence}`)
    for (const note of notes) print.note(note)
    for (const line of pending.lines) print.note(line)
  }
  if (!options.dryRun) {
    await confirm(
      `Detach Sluice from API ${apiId}${open.length > 0 ? `, and open ${open.join(', ')}` : ''}?`,
      io,
      options,
    )
    const progress = (text: string) => print.note(text)
    await io.interrupts.during((pressed) =>
      runDetach({ control, journal, policy, label, progress, pressed }, recorded, reverts, state),
    )
  }
  if (options.json) print.json({ apiId, detached: options.dryRun !== true, undone: texts, changed, notes, open })
  else print[options.dryRun ? 'note' : 'line'](options.dryRun ? 'dry run: nothing was changed' : 'detached')
}

/** @throws UserError where a Sluice is in front of an API of which nothing is on record here. */
async function rejectUnrecorded(apiId: string, { control, configTable, sluices }: OpenedApi): Promise<void> {
  const found = control ? await sluices(await control.readAuthorizers()) : []
  const other = found.find((one) => !readsTable(one, configTable))
  if (other)
    throw new UserError(`API ${apiId} is not attached here: ${ownerText(other)}. Instead: ${adviceText(apiId, other)}`)
  const lost = found.find(({ isAttached }) => isAttached)
  if (lost)
    throw new UserError(
      `nothing of API ${apiId} is on record in config table "${configTable}", and ${ownerText(lost)}: give its methods another authorization and delete the authorizer by hand`,
    )
}

/**
 * What goes live with the stages that detach deploys anew; `open` are methods that lose authentication by edits of
 * others, as was allowed.
 *
 * @throws UserError where nobody allowed it.
 */
async function pendingOf(
  control: ApiControl | undefined,
  state: ApiState | undefined,
  recorded: AttachJournal,
  reverts: readonly RevertStep[],
  allowed: readonly string[],
): Promise<{ lines: string[]; open: string[] }> {
  const lines: string[] = []
  const open = new Set<string>()
  if (!control || !state) return { lines, open: [] }
  for (const step of reverts) {
    const stage =
      step.kind === 'deployment' && step.to === undefined && state.stages.find(({ name }) => name === step.stage)
    if (!stage) continue
    const restored = { ...state, methods: methodsAfter(state.methods, reverts) }
    const pending = await control.pendingEdits(restored, stage)
    for (const key of rejectOpening(pending, restored, stage, recorded, allowed)) open.add(key)
    lines.push(...pendingText(stage.name, pending))
  }
  return { lines, open: [...open] }
}
