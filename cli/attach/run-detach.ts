import { printed } from '../../limiter/errors'
import { InterruptedError } from '../exit'
import type { ApiControl, ApiState } from './api-state'
import { AsShown } from './as-shown'
import { afterwards, type Undo } from './plan-detach'
import { notedLabel } from './plan-label'
import type { Workshop } from './run-attach'
import { detachMark, type Remembered } from './steps'

/**
 * Does what puts an API back, then forgets the attachment. It may die at any moment: the next detach looks at what is
 * there and goes on. What it changes is read again right before, and changed only if it is as the plan shows it.
 *
 * @param state as the plan was made from; `undefined`: the API is gone.
 * @throws InterruptedError between two of them.
 */
export async function runDetach(
  {
    control,
    journal,
    policy,
    label,
    progress,
    pressed,
  }: Omit<Workshop, 'control'> & { readonly control: ApiControl | undefined },
  remembered: Remembered,
  undos: readonly Undo[],
  state: ApiState | undefined,
): Promise<void> {
  const { attachment } = remembered
  await journal.update({ ...attachment, phase: 'detaching' })
  const there = () => {
    if (!control || !state) throw new Error('the plan changes an API that is gone')
    return control
  }
  const asShown = () => new AsShown(there(), state!)
  for (const [index, undo] of undos.entries()) {
    if (pressed.aborted)
      throw new InterruptedError(`stopped after ${index} of ${undos.length} steps: continue with detach`)
    progress(`[${index + 1}/${undos.length}] ${undoText(undo)}`)
    switch (undo.kind) {
      case 'method':
        await asShown().method(undo.method)
        await there().authorize(undo.method, undo.to)
        break
      case 'integration':
        await asShown().integration(undo.integration)
        await there().mapResponses(undo.integration, undo.to)
        break
      case 'gateway-response':
        await asShown().response()
        await there().respond(undo.to)
        break
      case 'authorizer':
        await asShown().unused(undo.id)
        await there().deleteAuthorizer(undo.id)
        break
      case 'deployment':
        if (undo.to === undefined) {
          await asShown().deployable(undo.stage, undo.from, afterwards(state?.methods ?? [], undos))
          await there().deploy(undo.stage, detachMark(attachment))
        } else {
          await asShown().stage(undo.stage, undo.from)
          await there().pointStage(undo.stage, undo.to)
        }
        break
      case 'permission':
        await policy.remove(undo.statementId)
        break
      case 'label':
        await label.takeBack(attachment, notedLabel(remembered)!)
        break
      case 'own-deployment':
        await there().deleteDeployment(undo.id)
        break
    }
  }
  await journal.forget(remembered)
}

/** What one of them does, for those who read a plan or watch it. */
export function undoText(undo: Undo, authorizers: ApiState['authorizers'] = []): string {
  switch (undo.kind) {
    case 'method': {
      const { type, authorizerId } = undo.to
      const name = authorizerId && (authorizers.find(({ id }) => id === authorizerId)?.name ?? authorizerId)
      return `${undo.method.key}: ${type === 'NONE' ? 'no authorizer' : name ? `authorizer "${name}"` : type} again`
    }
    case 'integration':
      return `integration ${undo.integration.id}: no rate-limit headers`
    case 'gateway-response':
      return `denials get status ${undo.to.statusCode || '403'} again`
    case 'authorizer':
      return `delete authorizer ${undo.id}`
    case 'deployment':
      return undo.to === undefined
        ? `deploy stage ${undo.stage}`
        : `stage ${undo.stage} serves deployment ${undo.to} again`
    case 'permission':
      return 'remove API Gateway’s permission to call the function'
    case 'label':
      return `remove the label ${printed(undo.label)}`
    case 'own-deployment':
      return `delete deployment ${undo.id}, which attach made`
  }
}
