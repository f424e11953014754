import { printed } from '../facade/values'
import type { ApiLabel } from './api-label'
import type { ApiControl, ApiState, Authorization, Authorizer, Method } from './api-state'
import type { FunctionPolicy } from './function'
import type { JournalStore } from './journal'
import { methodsAfter, type RevertStep } from './revert-steps'
import { type Attachment, attachMark, type LabelStep, type Step } from './steps'
import type { UnchangedCheck } from './unchanged-check'
import { authorizerName, type FunctionName, functionUri, permissionPrefix, permissionSource } from './wanted'

/** A plan of attach that is being carried out. */
export interface AttachRun {
  readonly control: ApiControl
  readonly journal: Pick<JournalStore, 'note'>
  readonly policy: Pick<FunctionPolicy, 'add'>
  readonly label: Pick<ApiLabel, 'give'>
  /** As the journal has it. */
  readonly attachment: Attachment
  /** From which the plan was made. */
  readonly state: ApiState
  readonly unchanged: UnchangedCheck
  /** The methods as the steps so far have left them, by key. */
  readonly methods: Map<string, Method>
  readonly target: FunctionName
  /** The authorizer, if it existed already. */
  readonly own: Authorizer | undefined
  /** The authorizer, once it exists. */
  authorizerId: string | undefined
  /** The label that attach set before. */
  readonly called: LabelStep | undefined
  /** Throws if Sluice no longer verifies what a method's authorizer did. */
  readonly confirmKept: (method: Method) => Promise<void>
}

/** Steps that restore an API, being carried out. */
export interface RevertRun {
  /** @throws Error where the API is gone. */
  control(): ApiControl
  unchanged(): UnchangedCheck
  readonly methods: readonly Method[]
  readonly reverts: readonly RevertStep[]
  /** The description of deployments that it makes. */
  readonly mark: string
  /** What is not restored in the API. */
  readonly outside: {
    removePermission(statementId: string): Promise<void>
    revertLabel(): Promise<void>
  }
}

type StepOf<Kind> = Extract<Step, { kind: Kind }>
type RevertOf<Kind> = Extract<RevertStep, { kind: Kind }>
type Named = Pick<ApiState, 'kind' | 'authorizers'>

/** How a step is done and undone. What it changes is read again right before, and changed only if it is as shown. */
interface StepKind<Kind extends Step['kind']> {
  /** What it does, as a line of the plan and of the progress. */
  text(step: StepOf<Kind>, state: Named): string
  apply(step: StepOf<Kind>, run: AttachRun): Promise<void>
  revertText(step: RevertOf<Kind>, authorizers: ApiState['authorizers']): string
  revert(step: RevertOf<Kind>, run: RevertRun): Promise<void>
}

const KINDS: { readonly [Kind in Step['kind']]: StepKind<Kind> } = {
  label: {
    text: ({ after }) => `give the API the label ${printed(after.label)}`,
    apply: (step, { label, attachment, called }) => label.give(attachment, step, called),
    revertText: ({ label }) => `remove the label ${printed(label)}`,
    revert: (_, { outside }) => outside.revertLabel(),
  },

  authorizer: {
    text: ({ id }) => (id === undefined ? 'create the authorizer' : `repair authorizer ${id}`),
    async apply(_, run) {
      const { control, journal, attachment, own, target } = run
      if (own) await control.repairAuthorizer(own, functionUri(target))
      else run.authorizerId = await createAuthorizer(control, target)
      await journal.note(attachment, { kind: 'authorizer', id: authorizerOf(run) })
    },
    revertText: ({ id }) => `delete authorizer ${id}`,
    async revert({ id }, run) {
      await run.unchanged().unused(id)
      await run.control().deleteAuthorizer(id)
    },
  },

  permission: {
    text: () => 'allow API Gateway to call the function for this authorizer',
    async apply(_, run) {
      const [{ id }, authorizerId] = [run.state, authorizerOf(run)]
      await run.policy.add(permissionPrefix(id) + authorizerId, permissionSource(run.target, id, authorizerId))
    },
    revertText: () => 'remove API Gateway’s permission to call the function',
    revert: ({ statementId }, { outside }) => outside.removePermission(statementId),
  },

  'gateway-response': {
    text: ({ before }) =>
      `denials by any authorizer of this API get status 429 with headers instead of ${before.statusCode || '403'}`,
    async apply({ after }, { unchanged, control }) {
      await unchanged.response()
      await control.respond(after)
    },
    revertText: ({ to }) => `denials get status ${to.statusCode || '403'} again`,
    async revert({ to }, run) {
      await run.unchanged().response()
      await run.control().respond(to)
    },
  },

  method: {
    text({ key, before, kept, lost }, { authorizers }) {
      const rest = kept ? `, and ${kept}` : lost ? `, LOSES AUTHENTICATION: ${lost}` : ''
      const other = nameOf(before, authorizers)
      return `${key}: ${before.type === 'NONE' ? 'use Sluice' : `Sluice instead of ${other}`}${rest}`
    },
    async apply({ key, kept }, run) {
      const method = run.methods.get(key)!
      const authorization = { type: 'CUSTOM', authorizerId: authorizerOf(run) }
      if (kept !== undefined) await run.confirmKept(method)
      await run.unchanged.method(method)
      await run.control.authorize(method, authorization)
      run.methods.set(key, { ...method, authorization })
    },
    revertText: ({ method, to }, authorizers) =>
      `${method.key}: ${to.type === 'NONE' ? 'no authorizer' : nameOf(to, authorizers)} again`,
    async revert({ method, to }, run) {
      await run.unchanged().method(method)
      await run.control().authorize(method, to)
    },
  },

  integration: {
    text: ({ id }) => `integration ${id}: responses get rate-limit headers`,
    async apply(step, { state, unchanged, control }) {
      const integration = state.integrations.find(({ id }) => id === step.id)!
      await unchanged.integration(integration)
      await control.mapResponses(integration, step.after)
    },
    revertText: ({ integration }) => `integration ${integration.id}: no rate-limit headers`,
    async revert({ integration, to }, run) {
      await run.unchanged().integration(integration)
      await run.control().mapResponses(integration, to)
    },
  },

  deployment: {
    text: ({ stage }, { kind }) => `deploy stage ${stage}${kind === 'HTTP' ? '' : ', with all undeployed changes'}`,
    async apply({ stage }, { state, unchanged, methods, control, attachment }) {
      const { deploymentId } = state.stages.find(({ name }) => name === stage)!
      await unchanged.deployable(stage, deploymentId, [...methods.values()])
      await control.deploy(stage, attachMark(attachment))
    },
    revertText: ({ stage, to }) =>
      to === undefined ? `deploy stage ${stage}` : `stage ${stage} serves deployment ${to} again`,
    async revert({ stage, from, to }, run) {
      if (to === undefined) {
        await run.unchanged().deployable(stage, from, methodsAfter(run.methods, run.reverts))
        await run.control().deploy(stage, run.mark)
      } else {
        await run.unchanged().stage(stage, from)
        await run.control().pointStage(stage, to)
      }
    },
  },
}

/** What attach leaves behind beside its steps. */
const OWN_DEPLOYMENT = {
  revertText: ({ id }: RevertOf<'own-deployment'>) => `delete deployment ${id}, which attach made`,
  revert: ({ id }: RevertOf<'own-deployment'>, run: RevertRun) => run.control().deleteDeployment(id),
}
const REVERTED = { ...KINDS, 'own-deployment': OWN_DEPLOYMENT }

/** What a step does, as a line of the plan and of the progress. */
export const stepText = (step: Step, state: Named): string => KINDS[step.kind].text(step as never, state)

export const applyStep = (step: Step, run: AttachRun): Promise<void> => KINDS[step.kind].apply(step as never, run)

/** What a step does that restores an API, as a line of the plan and of the progress. */
export const revertText = (step: RevertStep, authorizers: ApiState['authorizers'] = []): string =>
  REVERTED[step.kind].revertText(step as never, authorizers)

export const revertStep = (step: RevertStep, run: RevertRun): Promise<void> =>
  REVERTED[step.kind].revert(step as never, run)

function authorizerOf({ authorizerId }: AttachRun): string {
  if (authorizerId === undefined) throw new Error('the plan uses an authorizer that it does not create')
  return authorizerId
}

const nameOf = ({ type, authorizerId }: Authorization, authorizers: ApiState['authorizers']): string =>
  authorizerId ? `authorizer "${authorizers.find(({ id }) => id === authorizerId)?.name ?? authorizerId}"` : type

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
