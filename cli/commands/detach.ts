import { gather, toMethodKey } from '../arguments'
import type { ApiControl, ApiState } from '../attach/api-state'
import { refuseOpening } from '../attach/losses'
import { withApi } from '../attach/open'
import { afterwards, planDetach, type Undo } from '../attach/plan-detach'
import { pendingText } from '../attach/run-attach'
import { runDetach, undoText } from '../attach/run-detach'
import type { Remembered } from '../attach/steps'
import { type AddCommand, type Answering, describeAnswering } from '../command'
import { confirm } from '../question'

interface Options extends Answering {
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly open?: readonly string[]
}

export const addDetach: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'detach <api-id>',
    'Remove Sluice from an API: detach restores what attach changed, and keeps what others changed since.',
    ['sluice detach a1b2c3d4e5 --dry-run', 'sluice detach a1b2c3d4e5 --yes'],
  )
    .option(
      '--open <method>',
      'allow this method to lose authentication through somebody else’s undeployed edit; repeatable',
      gather,
    )
    .option('--dry-run', 'show the steps without doing them')
    .option('-y, --yes', 'do not ask')
    .action((apiId: string, options: Options) =>
      withApi(session, options, apiId, async ({ control, journal, remembered, policyOf, label }) => {
        const { print, io } = session
        if (!remembered) {
          if (options.json) print.json({ apiId, detached: true, undone: [], changed: [] })
          else print.line(`API ${apiId} is not attached, nothing to do`)
          return
        }
        const policy = policyOf(remembered.attachment.functionArn)
        const state = await control?.read()
        const { undos, changed, notes } = planDetach(state, remembered, await policy.statements(), await label.read())
        const pending = await pendingOf(control, state, remembered, undos, (options.open ?? []).map(toMethodKey))
        const { open } = pending
        const texts = undos.map((undo) => undoText(undo, state?.authorizers))
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
            runDetach({ control, journal, policy, label, progress, pressed }, remembered, undos, state),
          )
        }
        if (options.json) print.json({ apiId, detached: options.dryRun !== true, undone: texts, changed, notes, open })
        else print[options.dryRun ? 'note' : 'line'](options.dryRun ? 'dry run: nothing was changed' : 'detached')
      }),
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
  remembered: Remembered,
  undos: readonly Undo[],
  allowed: readonly string[],
): Promise<{ lines: string[]; open: string[] }> {
  const lines: string[] = []
  const open = new Set<string>()
  if (!control || !state) return { lines, open: [] }
  for (const undo of undos) {
    const stage =
      undo.kind === 'deployment' && undo.to === undefined && state.stages.find(({ name }) => name === undo.stage)
    if (!stage) continue
    const restored = { ...state, methods: afterwards(state.methods, undos) }
    const pending = await control.pendingEdits(restored, stage)
    for (const key of refuseOpening(pending, restored, stage, remembered, allowed)) open.add(key)
    lines.push(...pendingText(stage.name, pending))
  }
  return { lines, open: [...open] }
}
