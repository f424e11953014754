import { UserError } from '../exit'
import { AFTER_PROMOTING, type ApiState, type Method } from './api-state'
import type { RevertStep } from './revert-steps'
import { type AttachJournal, attachMark, detachMark } from './steps'

/**
 * A canary may use Sluice, and a stage with a canary cannot change its deployment.
 *
 * @throws UserError
 */
export function refuseCanaries(
  { stages, deployments }: ApiState,
  { attachment }: AttachJournal,
  reverts: readonly RevertStep[],
): void {
  for (const { name, hasCanary, canaryDeploymentId } of stages) {
    if (!hasCanary) continue
    const served = deployments.find(({ id }) => id === canaryDeploymentId)
    const isMoved = reverts.some((step) => step.kind === 'deployment' && step.stage === name)
    if (isMoved || !served || served.createdAt > attachment.newestDeploymentAt) {
      throw new UserError(`stage ${name} has a canary, which may use Sluice: delete it first, ${AFTER_PROMOTING}`)
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
export function undeploy(
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
        `stage ${name} was deployed since: it is deployed again, and undeployed edits of others go live with it`,
      )
    } else {
      changed.push(`stage ${name} already serves an earlier deployment`)
    }
  }
  return reverts
}

/** Attach's deployments that no stage uses after all steps. */
export function leftovers(
  state: ApiState,
  { attachment }: AttachJournal,
  reverts: readonly RevertStep[],
): RevertStep[] {
  const moved = reverts.flatMap((step) => (step.kind === 'deployment' ? [step.stage] : []))
  const serving = state.stages.filter(({ name }) => !moved.includes(name)).map(({ deploymentId }) => deploymentId)
  return state.deployments
    .filter(({ id, description }) => description === attachMark(attachment) && !serving.includes(id))
    .map(({ id }) => ({ kind: 'own-deployment', id }))
}
