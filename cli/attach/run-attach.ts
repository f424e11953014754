import { InterruptedError, UserError } from '../exit'
import type { ApiLabel } from './api-label'
import type { ApiControl, PendingEdits } from './api-state'
import type { FunctionPolicy } from './function'
import type { JournalStore } from './journal'
import { type AttachRun, applyStep, stepText } from './step-kinds'
import type { Step } from './steps'
import { UnchangedCheck } from './unchanged-check'

/** What the steps of attach and detach need. */
export interface AttachContext {
  readonly control: ApiControl
  readonly journal: JournalStore
  readonly policy: FunctionPolicy
  readonly label: Pick<ApiLabel, 'read' | 'give' | 'revert'>
  /** Called with a line before each step. */
  readonly progress: (text: string) => void
  /** Ctrl-C: the current step is finished, and no further one started. */
  readonly pressed: AbortSignal
}

/** A plan that somebody agreed to. */
export interface AgreedPlan
  extends Pick<AttachRun, 'state' | 'attachment' | 'target' | 'own' | 'called' | 'confirmKept'> {
  readonly steps: readonly Step[]
}

/**
 * Runs the steps of a plan, each recorded before it is done. It can be interrupted at any moment: the next attach or
 * detach continues from the journal and the API's state.
 *
 * @throws InterruptedError between two steps.
 */
export async function runAttach(context: AttachContext, { steps, ...plan }: AgreedPlan): Promise<void> {
  const { control, journal, progress, pressed } = context
  const { attachment, state, own } = plan
  const run: AttachRun = {
    ...context,
    ...plan,
    unchanged: new UnchangedCheck(control, state),
    methods: new Map(state.methods.map((method) => [method.key, method])),
    authorizerId: own?.id,
  }
  for (const [index, step] of steps.entries()) {
    if (pressed.aborted) {
      throw new InterruptedError(
        `stopped after ${index} of ${steps.length} steps: continue with attach, or revert with detach`,
      )
    }
    progress(`[${index + 1}/${steps.length}] ${stepText(step, state)}`)
    if (step.kind !== 'label') await journal.note(attachment, step) // which is written with the label
    await applyStep(step, run)
  }
  await journal.update({ ...attachment, phase: 'attached' })
}

/** Warnings before other people's edits go live. */
export function pendingText(
  stage: string,
  { edits, complete, hidden }: Pick<PendingEdits, 'edits' | 'complete' | 'hidden'>,
): string[] {
  const seen = edits.map((edit) => `  ${edit}`)
  if (complete && edits.length === 0) return []
  const first =
    edits.length > 0
      ? `undeployed edits of others go live with the deployment of stage ${stage}:`
      : `undeployed edits of others, if any, go live with the deployment of stage ${stage}`
  const rest = complete
    ? []
    : hidden
      ? ['  API Gateway shows nothing of what a deployment of a WebSocket API has']
      : ['  API Gateway shows added and removed methods, their authorization and API keys, but no other edits']
  return [first, ...seen, ...rest]
}

/** Whether an error is permanent (a wrong API state, a missing right), so that repeating the call would not help. */
export function isFinal(error: unknown): boolean {
  if (error instanceof UserError) return true
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
  return status !== undefined && status >= 400 && status < 500 && status !== 429
}
