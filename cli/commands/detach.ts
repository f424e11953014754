import { gather, toMethodKey } from '../arguments'
import type { ApiControl, ApiState } from '../attach/api-state'
import { rejectOpening } from '../attach/losses'
import { withApi } from '../attach/open'
import { methodsAfter, planDetach, type RevertStep } from '../attach/plan-detach'
import { pendingText } from '../attach/run-attach'
import { revertText, runDetach } from '../attach/run-detach'
import type { AttachJournal } from '../attach/steps'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly open?: readonly string[]
}

export const addDetach: AddCommand = (group, session) => {
  describeTableCommand(
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
      withApi(session, options, apiId, async ({ control, journal, recorded, policyOf, label }) => {
        const { print, io } = session
        if (!recorded) {
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
