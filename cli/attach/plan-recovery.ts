import { ACCESS_DENIED } from '../../provisioning/gateway-response'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import { AFTER_PROMOTING, type ApiState, type Authorizer, type Method, type Stage, usesAuthorizer } from './api-state'
import { methodsAfter, type RevertStep } from './revert-steps'
import { isSameMappings, isSameResponse, revertMappings, revertResponse } from './three-way'
import { with429, withHeaders } from './wanted'

/** How deployments of any attach are described, see `attachMark`. */
const ATTACH_MARK = /^sluice attach [0-9a-f]{12}$/
const DETACH_MARK = /^sluice detach /

/** By which deployments that a recovery makes are known. */
export const RECOVERY_MARK = 'sluice detach --function-gone'

export interface RecoveryPlan {
  /** In order of execution, without those that are done already. */
  readonly reverts: readonly RevertStep[]
  /** Methods that keep the authorizer of the deleted function, because nobody knows what they had before. */
  readonly closed: readonly string[]
  /** Methods that lose authentication, as was allowed with `--open`. */
  readonly opened: readonly string[]
  readonly notes: readonly string[]
}

/** What the API itself shows of the time before attach. */
export interface EarlierState {
  /** The newest deployment before attach's first one. */
  readonly deploymentId: string
  /** What authorized its methods, see `ApiControl.servedBy`. */
  readonly types: ReadonlyMap<string, string>
}

/** The newest deployment that was made before any attach, by an API's state; none where attach's are gone. */
export function deploymentBefore({ deployments }: ApiState): string | undefined {
  const first = deployments.findIndex(({ description }) => ATTACH_MARK.test(description))
  return deployments[first - 1]?.id
}

/**
 * Plans how an API is restored without a journal, after the function was deleted. Everything of attach is recognised by
 * its names, texts and marks. A method gets back what the last deployment before attach had, if that needs no
 * authorizer; else it stays as it is, and so fails, unless its key is in `open`. As long as a method stays, so do the
 * authorizer and the 429.
 *
 * @param own the authorizers that attach made.
 * @param served what authorizes the methods of each stage now, by stage.
 * @throws UserError where a key is no method, or a stage has a canary.
 */
export function planRecovery(
  state: ApiState,
  own: readonly Authorizer[],
  earlier: EarlierState | undefined,
  served: ReadonlyMap<string, ReadonlyMap<string, string> | undefined>,
  open: readonly string[],
): RecoveryPlan {
  const usesOwn = ({ authorization }: Method) => own.some(({ id }) => usesAuthorizer(authorization, id))
  const ours = state.methods.filter(usesOwn)
  for (const key of open) {
    if (!state.methods.some((method) => method.key === key))
      throw new UserError(`API ${state.id} has no method ${printed(key)}`)
  }
  const canary = state.stages.find(({ hasCanary }) => hasCanary)
  if (canary)
    throw new UserError(`stage ${canary.name} has a canary, which may use Sluice: delete it first, ${AFTER_PROMOTING}`)

  const restored: RevertStep[] = []
  const [closed, opened]: [string[], string[]] = [[], []]
  const notes: string[] = []
  for (const method of ours) {
    const type = earlier?.types.get(method.key)
    const isOpen = open.includes(method.key)
    if (type === 'NONE' || type === 'AWS_IAM') {
      restored.push({ kind: 'method', method, to: { type } })
      notes.push(`${method.key} had ${type === 'NONE' ? 'no authorizer' : type} in deployment ${earlier!.deploymentId}`)
    } else if (isOpen) {
      restored.push({ kind: 'method', method, to: { type: 'NONE' } })
      opened.push(method.key)
    } else closed.push(method.key)
  }
  const rest = closed.length > 0 ? [] : [...integrations(state), ...response(state, notes)]
  const after = methodsAfter(state.methods, restored)
  const deployments = state.stages
    .filter((stage) => isStale(stage, state, own, served.get(stage.name), after))
    .map(
      ({ name, deploymentId }): RevertStep => ({ kind: 'deployment', stage: name, from: deploymentId, to: undefined }),
    )
  return {
    reverts: [
      ...restored,
      ...rest,
      ...deployments,
      // After the deployments: as long as it is there, the next run knows that there is something to do.
      ...(closed.length > 0 ? [] : own.map(({ id }): RevertStep => ({ kind: 'authorizer', id }))),
      ...(closed.length > 0 ? [] : leftovers(state, deployments)),
    ],
    closed,
    opened,
    notes,
  }
}

/** Whether a stage serves methods with the authorizer that the API has without it, or will have. */
function isStale(
  { deploysItself, deploymentId }: Stage,
  { kind, deployments }: ApiState,
  own: readonly Authorizer[],
  served: ReadonlyMap<string, string> | undefined,
  after: readonly Method[],
): boolean {
  const description = deployments.find(({ id }) => id === deploymentId)?.description ?? ''
  if (deploysItself || deploymentId === undefined) return false
  const free = after.filter(({ authorization }) => !own.some(({ id }) => usesAuthorizer(authorization, id)))
  if (served && served.size > 0) {
    const isOurs = (by: string | undefined) => (kind === 'REST' ? by === 'CUSTOM' : own.some(({ name }) => name === by))
    return free.some(({ key, authorization }) => isOurs(served.get(key)) && authorization.type !== 'CUSTOM')
  }
  if (ATTACH_MARK.test(description)) return true
  const first = deployments.findIndex((one) => ATTACH_MARK.test(one.description))
  return first >= 0 && !DETACH_MARK.test(description) && deployments.findIndex(({ id }) => id === deploymentId) > first
}

/** The parts of `ACCESS_DENIED` that have attach's values go. What they were before is unknown. */
function response({ gatewayResponse: now }: ApiState, notes: string[]): RevertStep[] {
  if (!now || now.isDefault || now.statusCode !== ACCESS_DENIED.statusCode) return []
  const nothing = { isDefault: true, statusCode: '403', parameters: {}, templates: {} }
  const { result } = revertResponse({ before: nothing, after: with429(nothing) }, now)
  if (isSameResponse(result, now)) return []
  notes.push(
    result.isDefault
      ? 'gateway response ACCESS_DENIED is deleted: what it was before attach, if it was made by hand, is not on record'
      : 'gateway response ACCESS_DENIED keeps what is not attach’s: what attach replaced in it is not on record',
  )
  return [{ kind: 'gateway-response', to: result }]
}

/** Mappings that have attach's values go. */
function integrations({ integrations }: ApiState): RevertStep[] {
  return integrations.flatMap((integration): RevertStep[] => {
    const now = integration.responseParameters
    const { result } = revertMappings({ before: {}, after: withHeaders({}, Object.keys(now)) }, now)
    return isSameMappings(result, now) ? [] : [{ kind: 'integration', integration, to: result }]
  })
}

/** Deployments of attach that no stage serves afterwards. */
function leftovers({ stages, deployments }: ApiState, made: readonly RevertStep[]): RevertStep[] {
  const moved = made.flatMap((step) => (step.kind === 'deployment' ? [step.stage] : []))
  const serving = stages.filter(({ name }) => !moved.includes(name)).map(({ deploymentId }) => deploymentId)
  return deployments
    .filter(({ id, description }) => ATTACH_MARK.test(description) && !serving.includes(id))
    .map(({ id }) => ({ kind: 'own-deployment', id }))
}
