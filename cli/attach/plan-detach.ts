import { UserError } from '../exit'
import { type ApiState, authorizationText, isSameAuthorization, type Method, usesAuthorizer } from './api-state'
import { ownAuthorizer } from './plan-attach'
import { type ApiItem, labelDrift, notedLabel } from './plan-label'
import { leftovers, refuseCanaries, undeploy } from './plan-undeploy'
import { methodsAfter, type RevertStep } from './revert-steps'
import { type AttachJournal, type IntegrationStep, type MethodStep, notedAuthorizer } from './steps'
import { isSameMappings, isSameResponse, revertMappings, revertResponse } from './three-way'
import { permissionPrefix } from './wanted'

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
          `${key} had authorizer ${before.authorizerId}, which was deleted since: give it another authorization first`,
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
    changed.push(...back.changed.map((name) => `integration ${id}: ${name} was changed since`))
    return isSameMappings(back.result, integration.responseParameters)
      ? []
      : [{ kind: 'integration', integration, to: back.result }]
  })
}

function response({ gatewayResponse: now }: ApiState, { steps }: AttachJournal, changed: string[]): RevertStep[] {
  const noted = steps.find((step) => step.kind === 'gateway-response')
  if (!noted || !now) return []
  const { result, changed: parts } = revertResponse(noted, now)
  changed.push(...parts.map((part) => `gateway response ACCESS_DENIED: ${part} was changed since`))
  return isSameResponse(result, now) ? [] : [{ kind: 'gateway-response', to: result }]
}
