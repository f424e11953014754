import { AFTER_PROMOTING, type ApiState, authorizationText, canBeLimited, usesAuthorizer } from './api-state'
import { mappingDrift } from './header-mappings'
import { ownAuthorizer } from './plan-attach'
import { type ApiItem, labelDrift } from './plan-label'
import { type AttachJournal, attachMark, type MethodStep } from './steps'
import { isSameResponse } from './three-way'
import { authorizerName, type FunctionName, functionUri, permissionPrefix, settingsDrift, with429 } from './wanted'

/** All differences between an attached API and what attach configured, one sentence each. */
export function driftOf(
  state: ApiState,
  recorded: AttachJournal,
  target: FunctionName,
  statements: readonly string[],
  called: ApiItem,
): string[] {
  const { attachment, steps } = recorded
  const unfinished = attachment.phase === 'attached' ? [] : [`${attachment.phase.replace('ing', '')} was interrupted`]
  return [
    ...unfinished,
    ...[labelDrift(state.id, called, recorded)].filter((one) => one !== undefined),
    ...authorizerDrift(state, recorded, target, statements),
    ...methodDrift(state, recorded),
    ...(state.gatewayResponse && steps.some(({ kind }) => kind === 'gateway-response')
      ? responseDrift(state.gatewayResponse)
      : []),
    ...mappingDrift(state, recorded),
    ...stageDrift(state, recorded),
  ]
}

function authorizerDrift(
  state: ApiState,
  recorded: AttachJournal,
  target: FunctionName,
  statements: readonly string[],
): string[] {
  const own = ownAuthorizer(state, recorded, target.arn)
  if (!own) return [`authorizer "${authorizerName(target.arn)}" is gone`]
  const wrong = settingsDrift(own, state.kind)
  if (own.uri !== functionUri(target)) wrong.push('it calls another function')
  return [
    ...wrong.map((what) => `authorizer "${own.name}": ${what}`),
    ...(statements.includes(permissionPrefix(state.id) + own.id)
      ? []
      : ['API Gateway may not call the function: the permission is missing']),
  ]
}

function methodDrift(state: ApiState, recorded: AttachJournal): string[] {
  const own = ownAuthorizer(state, recorded, recorded.attachment.functionArn)
  const noted = new Map(
    recorded.steps.flatMap((step): [string, MethodStep][] => (step.kind === 'method' ? [[step.key, step]] : [])),
  )
  const { methods: scope } = recorded.attachment
  const present = new Set(state.methods.map(({ key }) => key))
  const gone = [...noted.keys()].filter((key) => !present.has(key)).map((key) => `${key} is gone`)
  return [
    ...gone,
    ...state.methods.flatMap((method) => {
      const { key, authorization } = method
      if (!canBeLimited(method, state.kind)) return []
      const wasRequired = noted.get(key)?.apiKeyRequired ?? method.apiKeyRequired
      if (usesAuthorizer(authorization, own?.id)) {
        return [
          ...(authorization.scopes
            ? [`${key} has scopes with Sluice's authorizer: ${authorization.scopes.join(', ')}`]
            : []),
          ...(noted.has(key) ? [] : [`${key} uses Sluice’s authorizer, but attach did not set it`]),
          ...(method.apiKeyRequired === wasRequired
            ? []
            : [`${key} ${wasRequired ? 'no longer requires' : 'requires'} an API key`]),
        ]
      }
      if (noted.has(key))
        return [`${key} has ${authorizationText(authorization, state.authorizers)} instead of Sluice's`]
      return scope === 'all' && authorization.type === 'NONE' ? [`${key} is new and unprotected`] : []
    }),
  ]
}

function responseDrift(now: NonNullable<ApiState['gatewayResponse']>): string[] {
  if (now.isDefault) return ['gateway response ACCESS_DENIED is missing: requests over the limit get 403']
  const wanted = with429(now)
  if (now.statusCode !== wanted.statusCode)
    return [`gateway response ACCESS_DENIED answers ${now.statusCode || '403'} instead of ${wanted.statusCode}`]
  return isSameResponse(now, wanted) ? [] : ['gateway response ACCESS_DENIED has different headers or a different body']
}

function stageDrift({ stages, deployments }: ApiState, { attachment, steps }: AttachJournal): string[] {
  return steps.flatMap((step) => {
    if (step.kind !== 'deployment') return []
    const stage = stages.find(({ name }) => name === step.stage)
    if (!stage) return [`stage ${step.stage} is gone`]
    if (stage.hasCanary)
      return [`stage ${stage.name} has a canary, which detach cannot change: delete it, ${AFTER_PROMOTING}`]
    const served = deployments.find(({ id }) => id === stage.deploymentId)
    if (stage.deploysItself || served?.description === attachMark(attachment)) return []
    return stage.deploymentId === step.before
      ? [`stage ${stage.name} serves its deployment from before attach`]
      : [`stage ${stage.name} was deployed by another user, deployment ${stage.deploymentId ?? 'unknown'}`]
  })
}
