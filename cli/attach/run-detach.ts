import { InterruptedError } from '../exit'
import type { ApiControl, ApiState } from './api-state'
import { notedLabel } from './plan-label'
import type { RevertStep } from './revert-steps'
import type { AttachContext } from './run-attach'
import { type RevertRun, revertStep, revertText } from './step-kinds'
import { type AttachJournal, detachMark } from './steps'
import { UnchangedCheck } from './unchanged-check'

/**
 * Runs the steps that restore an API, then deletes the journal. It can be interrupted at any moment: the next detach
 * continues. What a step changes is read again right before, and changed only if it still is as the plan shows it.
 *
 * @param state from which the plan was made; `undefined`: the API is gone.
 * @throws InterruptedError between two steps.
 */
export async function runDetach(
  context: Omit<AttachContext, 'control'> & { readonly control: ApiControl | undefined },
  recorded: AttachJournal,
  reverts: readonly RevertStep[],
  state: ApiState | undefined,
): Promise<void> {
  const { journal, label, policy } = context
  const { attachment } = recorded
  await journal.update({ ...attachment, phase: 'detaching' })
  await runReverts(context, reverts, state, detachMark(attachment), {
    removePermission: (statementId) => policy.remove(statementId),
    revertLabel: () => label.revert(attachment, notedLabel(recorded)!),
  })
  await journal.forget(recorded)
}

/** Runs steps that restore an API. @throws InterruptedError between two steps. */
export async function runReverts(
  { control, progress, pressed }: Pick<AttachContext, 'progress' | 'pressed'> & { readonly control?: ApiControl },
  reverts: readonly RevertStep[],
  state: ApiState | undefined,
  mark: RevertRun['mark'],
  outside: RevertRun['outside'],
): Promise<void> {
  const there = () => {
    if (!control || !state) throw new Error('the plan changes an API that is gone')
    return control
  }
  const run: RevertRun = {
    control: there,
    unchanged: () => new UnchangedCheck(there(), state!),
    methods: state?.methods ?? [],
    reverts,
    mark,
    outside,
  }
  for (const [index, step] of reverts.entries()) {
    if (pressed.aborted)
      throw new InterruptedError(`stopped after ${index} of ${reverts.length} steps: continue with detach`)
    progress(`[${index + 1}/${reverts.length}] ${revertText(step)}`)
    await revertStep(step, run)
  }
}
