import { printed } from '../../limiter/errors'
import { InterruptedError, UserError } from '../exit'
import type { ApiLabel } from './api-label'
import type { ApiControl, ApiState, Authorizer, Method, PendingEdits } from './api-state'
import type { FunctionPolicy } from './function'
import type { JournalStore } from './journal'
import { type Attachment, attachMark, type LabelStep, type Step } from './steps'
import { UnchangedCheck } from './unchanged-check'
import { authorizerName, type FunctionName, functionUri, permissionPrefix, permissionSource } from './wanted'

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

/**
 * Runs the steps of a plan, each recorded before it is done. It can be interrupted at any moment: the next attach or
 * detach continues from the journal and the API's state. What a step changes is read again right before, and changed
 * only if it still is as the plan shows it.
 *
 * @param attachment as the journal already has it.
 * @param state from which the plan was made.
 * @param own the authorizer, if it exists already.
 * @param called the label that attach set before.
 * @param confirmKept throws if Sluice no longer verifies what a method's authorizer did.
 * @throws InterruptedError between two steps.
 */
export async function runAttach(
  { control, journal, policy, label, progress, pressed }: AttachContext,
  state: ApiState,
  attachment: Attachment,
  steps: readonly Step[],
  target: FunctionName,
  own: Authorizer | undefined,
  called: LabelStep | undefined,
  confirmKept: (method: Method) => Promise<void>,
): Promise<void> {
  const unchanged = new UnchangedCheck(control, state)
  const expected = new Map(state.methods.map((method) => [method.key, method]))
  let authorizerId = own?.id
  const known = () => {
    if (authorizerId === undefined) throw new Error('the plan uses an authorizer that it does not create')
    return authorizerId
  }
  for (const [index, step] of steps.entries()) {
    if (pressed.aborted) {
      throw new InterruptedError(
        `stopped after ${index} of ${steps.length} steps: continue with attach, or revert with detach`,
      )
    }
    progress(`[${index + 1}/${steps.length}] ${stepText(step, state)}`)
    if (step.kind !== 'label') await journal.note(attachment, step)
    switch (step.kind) {
      case 'label':
        await label.give(attachment, step, called)
        break
      case 'authorizer':
        if (own) await control.repairAuthorizer(own, functionUri(target))
        else authorizerId = await createAuthorizer(control, target)
        await journal.note(attachment, { kind: 'authorizer', id: authorizerId })
        break
      case 'permission':
        await policy.add(permissionPrefix(state.id) + known(), permissionSource(target, state.id, known()))
        break
      case 'gateway-response':
        await unchanged.response()
        await control.respond(step.after)
        break
      case 'method': {
        const method = expected.get(step.key)!
        const authorization = { type: 'CUSTOM', authorizerId: known() }
        if (step.kept !== undefined) await confirmKept(method)
        await unchanged.method(method)
        await control.authorize(method, authorization)
        expected.set(step.key, { ...method, authorization })
        break
      }
      case 'integration': {
        const integration = state.integrations.find(({ id }) => id === step.id)!
        await unchanged.integration(integration)
        await control.mapResponses(integration, step.after)
        break
      }
      case 'deployment': {
        const { deploymentId } = state.stages.find(({ name }) => name === step.stage)!
        await unchanged.deployable(step.stage, deploymentId, [...expected.values()])
        await control.deploy(step.stage, attachMark(attachment))
        break
      }
    }
  }
  await journal.update({ ...attachment, phase: 'attached' })
}

/**
 * Creates the authorizer. If the SDK repeats the call after a lost answer, the second one fails because the first
 * succeeded; then the authorizer is found by its name.
 */
async function createAuthorizer(control: ApiControl, target: FunctionName): Promise<string> {
  const name = authorizerName(target.arn)
  try {
    return await control.createAuthorizer(name, functionUri(target))
  } catch (error) {
    if (!/BadRequest|Conflict/.test((error as Error).name)) throw error
    const made = (await control.read()).authorizers.find((one) => one.name === name)
    if (!made) throw error
    return made.id
  }
}

/** What a step does, as a line of the plan and of the progress. */
export function stepText(step: Step, { kind, authorizers }: Pick<ApiState, 'kind' | 'authorizers'>): string {
  switch (step.kind) {
    case 'label':
      return `give the API the label ${printed(step.after.label)}`
    case 'authorizer':
      return step.id === undefined ? 'create the authorizer' : `repair authorizer ${step.id}`
    case 'permission':
      return 'allow API Gateway to call the function for this authorizer'
    case 'gateway-response':
      return `denials by any authorizer of this API get status 429 with headers instead of ${step.before.statusCode || '403'}`
    case 'method': {
      const { type, authorizerId } = step.before
      const other = authorizerId && (authorizers.find(({ id }) => id === authorizerId)?.name ?? authorizerId)
      const rest = step.kept ? `, and ${step.kept}` : step.lost ? `, LOSES AUTHENTICATION: ${step.lost}` : ''
      return `${step.key}: ${type === 'NONE' ? 'use Sluice' : `Sluice instead of ${other ? `authorizer "${other}"` : type}`}${rest}`
    }
    case 'integration':
      return `integration ${step.id}: responses get rate-limit headers`
    case 'deployment':
      return `deploy stage ${step.stage}${kind === 'HTTP' ? '' : ', with all undeployed changes'}`
  }
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
