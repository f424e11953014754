import { printed } from '../../limiter/errors'
import { InterruptedError } from '../exit'
import type { ApiControl, ApiState } from './api-state'
import { methodsAfter, type RevertStep } from './plan-detach'
import { notedLabel } from './plan-label'
import type { AttachContext } from './run-attach'
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
  {
    control,
    journal,
    policy,
    label,
    progress,
    pressed,
  }: Omit<AttachContext, 'control'> & { readonly control: ApiControl | undefined },
  recorded: AttachJournal,
  reverts: readonly RevertStep[],
  state: ApiState | undefined,
): Promise<void> {
  const { attachment } = recorded
  await journal.update({ ...attachment, phase: 'detaching' })
  const there = () => {
    if (!control || !state) throw new Error('the plan changes an API that is gone')
    return control
  }
  const unchanged = () => new UnchangedCheck(there(), state!)
  for (const [index, step] of reverts.entries()) {
    if (pressed.aborted)
      throw new InterruptedError(`stopped after ${index} of ${reverts.length} steps: continue with detach`)
    progress(`[${index + 1}/${reverts.length}] ${revertText(step)}`)
    switch (step.kind) {
      case 'method':
        await unchanged().method(step.method)
        await there().authorize(step.method, step.to)
        break
      case 'integration':
        await unchanged().integration(step.integration)
        await there().mapResponses(step.integration, step.to)
        break
      case 'gateway-response':
        await unchanged().response()
        await there().respond(step.to)
        break
      case 'authorizer':
        await unchanged().unused(step.id)
        await there().deleteAuthorizer(step.id)
        break
      case 'deployment':
        if (step.to === undefined) {
          await unchanged().deployable(step.stage, step.from, methodsAfter(state?.methods ?? [], reverts))
          await there().deploy(step.stage, detachMark(attachment))
        } else {
          await unchanged().stage(step.stage, step.from)
          await there().pointStage(step.stage, step.to)
        }
        break
      case 'permission':
        await policy.remove(step.statementId)
        break
      case 'label':
        await label.revert(attachment, notedLabel(recorded)!)
        break
      case 'own-deployment':
        await there().deleteDeployment(step.id)
        break
    }
  }
  await journal.forget(recorded)
}

/** What a step does, as a line of the plan and of the progress. */
export function revertText(step: RevertStep, authorizers: ApiState['authorizers'] = []): string {
  switch (step.kind) {
    case 'method': {
      const { type, authorizerId } = step.to
      const name = authorizerId && (authorizers.find(({ id }) => id === authorizerId)?.name ?? authorizerId)
      return `${step.method.key}: ${type === 'NONE' ? 'no authorizer' : name ? `authorizer "${name}"` : type} again`
    }
    case 'integration':
      return `integration ${step.integration.id}: no rate-limit headers`
    case 'gateway-response':
      return `denials get status ${step.to.statusCode || '403'} again`
    case 'authorizer':
      return `delete authorizer ${step.id}`
    case 'deployment':
      return step.to === undefined
        ? `deploy stage ${step.stage}`
        : `stage ${step.stage} serves deployment ${step.to} again`
    case 'permission':
      return 'remove API Gateway’s permission to call the function'
    case 'label':
      return `remove the label ${printed(step.label)}`
    case 'own-deployment':
      return `delete deployment ${step.id}, which attach made`
  }
}
