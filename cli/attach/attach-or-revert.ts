import { randomBytes } from 'node:crypto'
import { failureOf, InterruptedError, UserError } from '../exit'
import type { ApiState, Authorizer, Method } from './api-state'
import { planDetach } from './plan-detach'
import { notedLabel } from './plan-label'
import { type AttachContext, isFinal, runAttach } from './run-attach'
import { runDetach } from './run-detach'
import type { AttachJournal, Attachment, Step } from './steps'
import type { FunctionName } from './wanted'

/** A plan that somebody said yes to. */
interface AgreedPlan {
  /** From which the plan was made. */
  readonly state: ApiState
  readonly steps: readonly Step[]
  readonly target: FunctionName
  /** The authorizer, if it exists already. */
  readonly own: Authorizer | undefined
  /** Which methods it is for: those that there are and will be, or some. */
  readonly methods: Attachment['methods']
}

/**
 * Begins or extends the journal of an API, and runs a plan. A first attach that fails for good is reverted.
 *
 * @param recorded the journal of an earlier attach.
 * @param confirmKept throws if Sluice no longer verifies what a method's authorizer did.
 */
export async function attachOrRevert(
  context: AttachContext,
  recorded: AttachJournal | undefined,
  { state, steps, target, own, methods }: AgreedPlan,
  confirmKept: (method: Method) => Promise<void>,
): Promise<void> {
  const attachment = attachmentOf(state, recorded, methods, target)
  if (recorded) await context.journal.update(attachment)
  else await context.journal.begin(attachment)
  try {
    await runAttach(context, { state, attachment, steps, target, own, called: notedLabel(recorded), confirmKept })
  } catch (error) {
    throw await afterFailure(error, recorded === undefined, context, state.id)
  }
}

/** The journal of an earlier attach stays valid; a second attach can only extend it. */
function attachmentOf(
  state: ApiState,
  recorded: AttachJournal | undefined,
  methods: Attachment['methods'],
  { arn }: FunctionName,
): Attachment {
  const before = recorded?.attachment
  if (before) {
    const both = before.methods === 'all' || methods === 'all' ? 'all' : [...new Set([...before.methods, ...methods])]
    return { ...before, phase: 'attaching', methods: both }
  }
  return {
    id: randomBytes(6).toString('hex'),
    apiId: state.id,
    apiKind: state.kind,
    apiName: state.name,
    functionArn: arn,
    phase: 'attaching',
    startedAt: new Date().toISOString(),
    methods,
    stages: Object.fromEntries(
      state.stages.flatMap(({ name, deploymentId }) => (deploymentId ? [[name, deploymentId]] : [])),
    ),
    newestDeploymentAt: state.deployments.at(-1)?.createdAt ?? 0,
  }
}

/** A first attach that failed for good is reverted; one that failed for the moment can be continued. */
async function afterFailure(error: unknown, isNew: boolean, context: AttachContext, apiId: string): Promise<unknown> {
  if (error instanceof InterruptedError) return error
  const { message } = failureOf(error)
  if (!isNew || !isFinal(error)) {
    context.progress(`interrupted: continue with sluice attach ${apiId}, or revert with sluice detach ${apiId}`)
    return error
  }
  try {
    const recorded = await context.journal.read(apiId)
    if (recorded) {
      const state = await context.control.read()
      const step = planDetach(state, recorded, await context.policy.statements(), await context.label.read())
      await runDetach(context, recorded, step.reverts, state)
    }
    return new UserError(`${message} (all steps were reverted, nothing is changed)`)
  } catch (second) {
    return new UserError(
      `${message}; reverting the steps failed: ${failureOf(second).message}; try sluice detach ${apiId}`,
    )
  }
}
