import { UserError } from '../exit'
import { printed } from '../facade/values'
import {
  AFTER_PROMOTING,
  type ApiState,
  type Authorizer,
  authorizationText,
  canBeLimited,
  type Method,
  type Stage,
  usesAuthorizer,
} from './api-state'
import { integrationSteps, sharedNotes } from './header-mappings'
import { rejectLosses, replacementOf, unverifiable, type Verification } from './losses'
import { type AttachJournal, attachMark, type MethodStep, notedAuthorizer, notedMethod, type Step } from './steps'
import { isSameResponse, revertResponse } from './three-way'
import {
  authorizerName,
  callsFunction,
  type FunctionName,
  functionUri,
  permissionPrefix,
  settingsDrift,
  with429,
} from './wanted'

export interface AttachOptions {
  /** @default the only stage */
  readonly stage?: string
  /** Keys of methods. @default all that there are and will be */
  readonly methods?: readonly string[]
  /** Also methods that have another authorizer. */
  readonly replace: boolean
  /** Keys of methods that may lose authentication. */
  readonly open: readonly string[]
  /** HTTP: status codes whose answers get the limit's headers. */
  readonly headers?: readonly string[]
}

export interface AttachPlan {
  readonly stage: Stage
  /** In order of execution; none if nothing has to change. */
  readonly steps: readonly Step[]
  /** What somebody should know before saying yes, a sentence each. */
  readonly notes: readonly string[]
}

/**
 * Plans the steps that make an API use this function, from the API's current state. A second attach has no steps.
 *
 * @param recorded the journal of an earlier attach, which may have been interrupted anywhere.
 * @param statements ids of the function's resource policy.
 * @param checks what the function verifies.
 * @throws UserError when attaching is impossible or unsafe.
 */
export function planAttach(
  state: ApiState,
  recorded: AttachJournal | undefined,
  options: AttachOptions,
  target: FunctionName,
  statements: readonly string[],
  checks: Verification,
): AttachPlan {
  const own = ownAuthorizer(state, recorded, target.arn)
  refuseOthers(state, recorded, own, target.arn)
  const stage = findStage(state, options.stage)
  const dead = recorded && notedAuthorizer(recorded)
  const isOurs = ({ authorization }: Method) =>
    usesAuthorizer(authorization, own?.id) || usesAuthorizer(authorization, dead)
  const kept = (method: Method) => {
    const way = unverifiable(method, state) ?? '--replace switches it if Sluice verifies the same, detach restores it'
    return `${method.key} keeps ${authorizationText(method.authorization, state.authorizers)}: ${way}`
  }
  const { chosen, left } = choose(state, options, isOurs, kept)

  const steps: Step[] = []
  const replaced: MethodStep[] = []
  if (!own || own.uri !== functionUri(target) || settingsDrift(own, state.kind).length > 0)
    steps.push({ kind: 'authorizer', id: own?.id })
  if (!own || !statements.includes(permissionPrefix(state.id) + own.id)) steps.push({ kind: 'permission' })
  steps.push(...responseSteps(state, recorded))
  for (const method of chosen) {
    const { key, authorization, apiKeyRequired } = method
    if (usesAuthorizer(authorization, own?.id)) continue
    const step = { kind: 'method', key, apiKeyRequired, before: authorization } as const
    if (isOurs(method)) steps.push({ ...step, before: { type: 'NONE' }, ...(recorded && notedMethod(recorded, key)) })
    else if (authorization.type === 'NONE') steps.push(step)
    else replaced.push({ ...step, ...replacementOf(method, state, checks, target) })
  }
  rejectLosses(replaced, options.open)
  steps.push(...replaced)
  const mapped = integrationSteps(state, recorded, chosen, options.headers)
  steps.push(...mapped)
  steps.push(...deploymentSteps(state, recorded, stage, steps))

  const notes = left.map(kept)
  const others = state.stages.filter(({ name, deploysItself }) => deploysItself && name !== stage.name)
  if (others.length > 0)
    notes.push(`methods belong to all stages: ${names(others)} deploys automatically and will be limited as well`)
  const isProtected = (method: Method) => chosen.includes(method) || isOurs(method)
  notes.push(...sharedNotes(mapped, state.methods, isProtected))
  return { stage, steps, notes }
}

/** The authorizer that attach created, found by its name or by the journal. */
export function ownAuthorizer(
  { authorizers }: ApiState,
  recorded: AttachJournal | undefined,
  functionArn: string,
): Authorizer | undefined {
  if (!recorded) return undefined
  const noted = notedAuthorizer(recorded)
  return (
    authorizers.find(({ id }) => id === noted) ?? authorizers.find(({ name }) => name === authorizerName(functionArn))
  )
}

function refuseOthers(
  state: ApiState,
  recorded: AttachJournal | undefined,
  own: Authorizer | undefined,
  functionArn: string,
): void {
  if (recorded && recorded.attachment.functionArn !== functionArn) {
    throw new UserError(`API ${state.id} is attached to ${recorded.attachment.functionArn}: detach it first`)
  }
  if (recorded?.attachment.phase === 'detaching') {
    throw new UserError(`a detach of API ${state.id} was interrupted: finish it with sluice detach ${state.id}`)
  }
  const others = state.authorizers.filter(({ id }) => id !== own?.id)
  const same = others.find((one) => callsFunction(one, functionArn))
  if (same && same.settings.ttlSeconds > 0) {
    throw new UserError(
      `authorizer "${same.name}" of API ${state.id} calls this Sluice and caches decisions for ${same.settings.ttlSeconds} s, so cached requests are not counted: ` +
        'set its TTL to 0, or delete it and attach again',
    )
  }
  if (same) {
    throw new UserError(
      `authorizer "${same.name}" of API ${state.id} already calls this Sluice, and attach did not create it: use it, or delete it`,
    )
  }
}

function findStage({ id, stages }: ApiState, name: string | undefined): Stage {
  const known = stages.length === 0 ? 'it has none' : `there is ${names(stages)}`
  const stage = name === undefined && stages.length === 1 ? stages[0] : stages.find((one) => one.name === name)
  if (!stage) {
    throw new UserError(
      name === undefined
        ? `choose a stage of API ${id} with --stage: ${known}`
        : `API ${id} has no stage ${printed(name)}: ${known}`,
    )
  }
  if (stage.hasCanary)
    throw new UserError(
      `stage ${stage.name} has a canary, which would get the deployment: delete it first, ${AFTER_PROMOTING}`,
    )
  return stage
}

/**
 * The methods to protect, and those that keep an authorizer of their own.
 *
 * @param kept says of such a method whether it can be protected.
 */
function choose(
  state: ApiState,
  { methods: wished, replace, open }: AttachOptions,
  isOurs: (method: Method) => boolean,
  kept: (method: Method) => string,
): { chosen: Method[]; left: Method[] } {
  for (const key of [...(wished ?? []), ...open]) {
    const method = state.methods.find((one) => one.key === key)
    if (!method) throw new UserError(`API ${state.id} has no method ${printed(key)}: it has ${keysOf(state)}`)
    if (wished?.includes(key) && !canBeLimited(method, state.kind))
      throw new UserError(
        state.kind === 'WEBSOCKET'
          ? `API Gateway invokes no authorizer for messages such as ${printed(key)}: attach protects $connect, and withMessageLimit limits messages in their handler`
          : `${key} answers browsers’ preflights, which Sluice cannot limit: leave it out`,
      )
  }
  const candidates = state.methods.filter(
    (method) => canBeLimited(method, state.kind) && (wished?.includes(method.key) ?? true),
  )
  const isFree = (method: Method) => method.authorization.type === 'NONE' || isOurs(method)
  const left = replace ? [] : candidates.filter((method) => !isFree(method))
  if (wished && left.length > 0) throw new UserError(left.map(kept).join('. '))
  const chosen = candidates.filter((method) => !left.includes(method))
  if (chosen.length === 0) {
    throw new UserError(
      candidates.length === 0
        ? `API ${state.id} has no ${state.kind === 'WEBSOCKET' ? 'route $connect, which alone can have an authorizer: give it one, with a mock integration if nothing else' : 'methods to protect'}`
        : `all methods of API ${state.id} have an authorizer: ${left.map(kept).join('. ')}`,
    )
  }
  return { chosen, left }
}

function responseSteps({ gatewayResponse: now }: ApiState, recorded: AttachJournal | undefined): Step[] {
  if (!now) return []
  const noted = recorded?.steps.find((step) => step.kind === 'gateway-response')
  const before = noted ? revertResponse(noted, now).result : now
  const after = with429(before)
  if (isSameResponse(now, after) && noted) return []
  return [{ kind: 'gateway-response', before, after, ...(noted && { from: now }) }]
}

function deploymentSteps(
  { deployments }: ApiState,
  recorded: AttachJournal | undefined,
  stage: Stage,
  others: readonly Step[],
): Step[] {
  if (stage.deploysItself) return []
  const { name, deploymentId: now } = stage
  const served = deployments.find(({ id }) => id === now)
  const isOurs = recorded !== undefined && served?.description === attachMark(recorded.attachment)
  if (isOurs && others.every(({ kind }) => kind === 'permission')) return []
  const noted = recorded?.steps.find((step) => step.kind === 'deployment' && step.stage === name) as
    | Extract<Step, { kind: 'deployment' }>
    | undefined
  // A deployment made since by somebody else contains our authorizer, so there is no earlier one to return to.
  const isLater = recorded !== undefined && (served?.createdAt ?? 0) > recorded.attachment.newestDeploymentAt
  return [
    {
      kind: 'deployment',
      stage: name,
      before: isOurs ? noted?.before : isLater ? undefined : now,
      pending: noted?.pending ?? [],
      closed: noted?.closed ?? [],
    },
  ]
}

const names = (some: readonly { readonly name: string }[]) => some.map(({ name }) => name).join(', ')

function keysOf({ methods, kind }: ApiState): string {
  const keys = methods.filter((method) => canBeLimited(method, kind)).map(({ key }) => key)
  return keys.length > 12 ? `${keys.slice(0, 12).join(', ')} and ${keys.length - 12} more` : keys.join(', ') || 'none'
}
