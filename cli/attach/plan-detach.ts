import { UserError } from '../exit'
import {
  type ApiState,
  type Authorization,
  authorizationText,
  type GatewayResponse,
  type Integration,
  isSameAuthorization,
  type Method,
  usesAuthorizer,
} from './api-state'
import { ownAuthorizer } from './plan-attach'
import { type ApiItem, labelDrift, notedLabel } from './plan-label'
import {
  type AttachJournal,
  attachMark,
  detachMark,
  type IntegrationStep,
  type MethodStep,
  notedAuthorizer,
} from './steps'
import { isSameMappings, isSameResponse, revertMappings, revertResponse } from './three-way'
import { permissionPrefix } from './wanted'

/** One change that detach makes. */
export type RevertStep =
  | { readonly kind: 'method'; readonly method: Method; readonly to: Authorization }
  | { readonly kind: 'integration'; readonly integration: Integration; readonly to: Integration['responseParameters'] }
  | { readonly kind: 'gateway-response'; readonly to: GatewayResponse }
  | { readonly kind: 'authorizer'; readonly id: string }
  /** `from`: the stage's deployment now. `to`: its deployment from before; `undefined`: a new one has to be created. */
  | {
      readonly kind: 'deployment'
      readonly stage: string
      readonly from: string | undefined
      readonly to: string | undefined
    }
  | { readonly kind: 'permission'; readonly statementId: string }
  | { readonly kind: 'own-deployment'; readonly id: string }
  /** The label from before attach is restored. */
  | { readonly kind: 'label'; readonly label: string }

export interface DetachPlan {
  /** In order of execution, without those that are done already. */
  readonly reverts: readonly RevertStep[]
  /** Changes by others since attach, which stay: one sentence each. */
  readonly changed: readonly string[]
  /** What somebody should know before saying yes. */
  readonly notes: readonly string[]
}

/**
 * Plans the steps that restore an API, from the journal and the API's current state. Only what is unchanged since
 * attach is restored.
 *
 * @param state `undefined`: the API is gone.
 * @param called the API's item in the config table.
 * @throws UserError when restoring would break the API.
 */
export function planDetach(
  state: ApiState | undefined,
  recorded: AttachJournal,
  statements: readonly string[],
  called: ApiItem,
): DetachPlan {
  const permissions = statements
    .filter((id) => id.startsWith(permissionPrefix(recorded.attachment.apiId)))
    .map((statementId): RevertStep => ({ kind: 'permission', statementId }))
  const changed: string[] = []
  const labels = label(called, recorded, changed)
  if (!state)
    return {
      reverts: [...permissions, ...labels],
      changed: [`API ${recorded.attachment.apiId} is gone`, ...changed],
      notes: [],
    }

  const notes: string[] = []
  const own = ownAuthorizer(state, recorded, recorded.attachment.functionArn)
  const restored = methods(state, recorded, own?.id ?? notedAuthorizer(recorded), changed)
  const deployments = undeploy(state, recorded, methodsAfter(state.methods, restored), changed, notes)
  refuseCanaries(state, recorded, deployments)
  return {
    reverts: [
      ...restored,
      ...integrations(state, recorded, changed),
      ...response(state, recorded, changed),
      ...(own ? [{ kind: 'authorizer', id: own.id } as const] : []),
      ...deployments,
      ...permissions,
      ...leftovers(state, recorded, deployments),
      ...labels,
    ],
    changed,
    notes,
  }
}

function label(called: ApiItem, recorded: AttachJournal, changed: string[]): RevertStep[] {
  const noted = notedLabel(recorded)
  const drift = labelDrift(recorded.attachment.apiId, called, recorded)
  if (drift) changed.push(drift)
  return noted && !drift ? [{ kind: 'label', label: String(noted.after.label) }] : []
}

/** The methods after all steps. */
export function methodsAfter(methods: readonly Method[], reverts: readonly RevertStep[]): Method[] {
  const back = new Map(reverts.flatMap((step) => (step.kind === 'method' ? [[step.method.key, step.to] as const] : [])))
  return methods.map((method) => ({ ...method, authorization: back.get(method.key) ?? method.authorization }))
}

function methods(
  state: ApiState,
  { steps }: AttachJournal,
  ownId: string | undefined,
  changed: string[],
): RevertStep[] {
  const noted = new Map(
    steps.flatMap((step): [string, MethodStep][] => (step.kind === 'method' ? [[step.key, step]] : [])),
  )
  const isOurs = ({ authorization }: Method) => usesAuthorizer(authorization, ownId)
  const unrecorded = state.methods.find((method) => isOurs(method) && !noted.has(method.key))
  if (unrecorded) {
    throw new UserError(
      `${unrecorded.key} uses Sluice’s authorizer, but attach did not set it, so detach cannot restore it: give it another authorization first`,
    )
  }
  const reverts: RevertStep[] = []
  for (const [key, { before, apiKeyRequired }] of noted) {
    const method = state.methods.find((one) => one.key === key)
    if (!method) {
      changed.push(`${key} is gone`)
      continue
    }
    if (apiKeyRequired !== undefined && method.apiKeyRequired !== apiKeyRequired) {
      changed.push(`${key} ${method.apiKeyRequired ? 'requires' : 'no longer requires'} an API key`)
    }
    if (isOurs(method)) {
      if (method.authorization.scopes) {
        throw new UserError(`${key} has scopes with Sluice's authorizer, which attach did not set: remove them first`)
      }
      if (before.authorizerId && !state.authorizers.some(({ id }) => id === before.authorizerId)) {
        throw new UserError(
          `${key} had authorizer ${before.authorizerId}, which somebody deleted: give it another authorization first`,
        )
      }
      reverts.push({ kind: 'method', method, to: before })
    } else if (!isSameAuthorization(method.authorization, before)) {
      changed.push(`${key} has ${authorizationText(method.authorization, state.authorizers)} now`)
    }
  }
  return reverts
}

function integrations(state: ApiState, { steps }: AttachJournal, changed: string[]): RevertStep[] {
  const noted = steps.filter((step): step is IntegrationStep => step.kind === 'integration')
  return noted.flatMap((step): RevertStep[] => {
    const { id } = step
    const integration = state.integrations.find((one) => one.id === id)
    if (!integration) {
      changed.push(`integration ${id} is gone`)
      return []
    }
    const back = revertMappings(step, integration.responseParameters)
    changed.push(...back.changed.map((name) => `integration ${id}: somebody changed ${name}`))
    return isSameMappings(back.result, integration.responseParameters)
      ? []
      : [{ kind: 'integration', integration, to: back.result }]
  })
}

function response({ gatewayResponse: now }: ApiState, { steps }: AttachJournal, changed: string[]): RevertStep[] {
  const noted = steps.find((step) => step.kind === 'gateway-response')
  if (!noted || !now) return []
  const { result, changed: parts } = revertResponse(noted, now)
  changed.push(...parts.map((part) => `gateway response ACCESS_DENIED: somebody changed ${part}`))
  return isSameResponse(result, now) ? [] : [{ kind: 'gateway-response', to: result }]
}

/**
 * A canary may use Sluice, and a stage with a canary cannot change its deployment.
 *
 * @throws UserError
 */
function refuseCanaries(
  { stages, deployments }: ApiState,
  { attachment }: AttachJournal,
  reverts: readonly RevertStep[],
): void {
  for (const { name, hasCanary, canaryDeploymentId } of stages) {
    if (!hasCanary) continue
    const served = deployments.find(({ id }) => id === canaryDeploymentId)
    const isMoved = reverts.some((step) => step.kind === 'deployment' && step.stage === name)
    if (isMoved || !served || served.createdAt > attachment.newestDeploymentAt) {
      throw new UserError(`stage ${name} has a canary, which may use Sluice: promote or delete it first`)
    }
  }
}

/**
 * Restores the deployments of stages. A stage that still has attach's deployment gets its earlier one back: exactly
 * what was live before, without anybody's undeployed edits. A stage that somebody deployed meanwhile contains the
 * authorizer and must be deployed again, or it would call a function that it may no longer call. An earlier deployment
 * is not used if it would remove authorization that somebody else added and that went live with attach.
 *
 * @param methods as they are after all steps.
 */
function undeploy(
  state: ApiState,
  { attachment, steps }: AttachJournal,
  methods: readonly Method[],
  changed: string[],
  notes: string[],
): RevertStep[] {
  const reverts: RevertStep[] = []
  const noted = new Map(steps.flatMap((step) => (step.kind === 'deployment' ? [[step.stage, step] as const] : [])))
  for (const [name] of noted)
    if (!state.stages.some((stage) => stage.name === name)) changed.push(`stage ${name} is gone`)

  for (const { name, deploymentId, deploysItself } of state.stages) {
    const served = state.deployments.find(({ id }) => id === deploymentId)
    const step = noted.get(name)
    const before = step ? step.before : attachment.stages[name]
    if (deploysItself || !served || served.id === before || served.description === detachMark(attachment)) continue
    if (served.description === attachMark(attachment)) {
      const exists = state.deployments.some(({ id }) => id === before)
      const closed =
        step?.closed?.filter((key) => methods.some((one) => one.key === key && one.authorization.type !== 'NONE')) ?? []
      const to = exists && closed.length === 0 ? before : undefined
      reverts.push({ kind: 'deployment', stage: name, from: deploymentId, to })
      if (exists && closed.length > 0) {
        notes.push(
          `stage ${name} is deployed again, because its earlier deployment has no authorizer on ${closed.join(', ')}: undeployed edits of others go live with it`,
        )
      } else if (step && exists && step.pending.length > 0) {
        notes.push(
          `edits of others that went live with attach are no longer deployed on stage ${name}, but stay in the API: ${step.pending.join('; ')}`,
        )
      }
      if (!exists)
        notes.push(
          `stage ${name} is deployed again, because its earlier deployment is gone: undeployed edits of others go live with it`,
        )
    } else if (served.createdAt > attachment.newestDeploymentAt) {
      reverts.push({ kind: 'deployment', stage: name, from: deploymentId, to: undefined })
      notes.push(
        `somebody deployed stage ${name} since: it is deployed again, and undeployed edits of others go live with it`,
      )
    } else {
      changed.push(`stage ${name} already serves an earlier deployment`)
    }
  }
  return reverts
}

/** Attach's deployments that no stage uses after all steps. */
function leftovers(state: ApiState, { attachment }: AttachJournal, reverts: readonly RevertStep[]): RevertStep[] {
  const moved = reverts.flatMap((step) => (step.kind === 'deployment' ? [step.stage] : []))
  const serving = state.stages.filter(({ name }) => !moved.includes(name)).map(({ deploymentId }) => deploymentId)
  return state.deployments
    .filter(({ id, description }) => description === attachMark(attachment) && !serving.includes(id))
    .map(({ id }) => ({ kind: 'own-deployment', id }))
}
