import { printed } from '../../limiter/errors'
import { InterruptedError } from '../exit'
import type { ApiControl, ApiState } from './api-state'
import { notedLabel } from './plan-label'
import { methodsAfter, type RevertStep } from './revert-steps'
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
  context: Omit<AttachContext, 'control'> & { readonly control: ApiControl | undefined },
  recorded: AttachJournal,
  reverts: readonly RevertStep[],
  state: ApiState | undefined,
): Promise<void> {
  const { journal, label, policy } = context
  const { attachment } = recorded
  await journal.update({ ...attachment, phase: 'detaching' })
  await runReverts(context, reverts, state, detachMark(attachment), async (step) => {
    if (step.kind === 'permission') await policy.remove(step.statementId)
    else await label.revert(attachment, notedLabel(recorded)!)
  })
  await journal.forget(recorded)
}

/** What is restored elsewhere than in the API. */
type OutsideStep = Extract<RevertStep, { kind: 'permission' | 'label' }>

/**
 * Runs steps that restore an API.
 *
 * @param mark the description of deployments that it makes.
 * @param outside does what is not done in the API.
 */
export async function runReverts(
  { control, progress, pressed }: Pick<AttachContext, 'progress' | 'pressed'> & { readonly control?: ApiControl },
  reverts: readonly RevertStep[],
  state: ApiState | undefined,
  mark: string,
  outside: (step: OutsideStep) => Promise<void>,
): Promise<void> {
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
          await there().deploy(step.stage, mark)
        } else {
          await unchanged().stage(step.stage, step.from)
          await there().pointStage(step.stage, step.to)
        }
        break
      case 'own-deployment':
        await there().deleteDeployment(step.id)
        break
      default:
        await outside(step)
    }
  }
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
