import type { OutputOptions, Session } from '../command'
import { UserError } from '../exit'
import { confirm } from '../terminal/question'
import type { ApiControl, ApiState } from './api-state'
import { openOptions, rejectOpening } from './losses'
import { existing, withClients } from './open'
import { adviceText, type FoundSluice, ownerText } from './other-sluice'
import { deploymentBefore, type EarlierState, planRecovery, RECOVERY_MARK, type RecoveryPlan } from './plan-recovery'
import { methodsAfter } from './revert-steps'
import { pendingText } from './run-attach'
import { runReverts } from './run-detach'
import { revertText } from './step-kinds'
import type { AttachJournal } from './steps'

interface Options extends OutputOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/**
 * Restores an API whose Sluice was deleted together with the journal, from the API alone.
 *
 * @param open keys of methods that may lose authentication.
 * @throws UserError where the function is still there, or after the work, if methods stay closed.
 */
export function recover(session: Session, options: Options, apiId: string, open: readonly string[]): Promise<void> {
  return withClients(session, options, apiId, async (clients) => {
    const { print, io } = session
    const control = existing(clients, apiId)
    const state = await control.read()
    const own = ownOf(apiId, await clients.sluices(state.authorizers))
    if (own.length === 0) {
      if (options.json) return print.json({ apiId, detached: true, undone: [], notes: [], open: [], closed: [] })
      return print.line(`API ${apiId} has no authorizer that attach made, nothing to do`)
    }
    const authorizers = own.map(({ authorizer }) => authorizer)
    const earlier = await earlierOf(control, state)
    const plan = planRecovery(state, authorizers, earlier, await servedBy(control, state), open)
    const pending = await pendingOf(control, state, own, earlier, plan, open)
    const opened = [...new Set([...plan.opened, ...pending.opened])]
    const texts = plan.reverts.map((step) => revertText(step, state.authorizers))
    if (!options.json) {
      for (const text of texts) print.line(`  ${text}`)
      print.note('no config table with a record of this attachment was found: if it still exists, name it with --table')
      for (const note of [...plan.notes, ...pending.lines]) print.note(note)
      for (const key of plan.closed) print.note(`${key} stays closed: what it had before attach is not on record`)
    }
    if (!options.dryRun && plan.reverts.length > 0) {
      const also = opened.length > 0 ? `, and open ${opened.join(', ')}` : ''
      await confirm(`Remove what attach left on API ${apiId}${also}?`, io, options)
      const progress = (text: string) => print.note(text)
      await io.interrupts.during((pressed) =>
        runReverts({ control, progress, pressed }, plan.reverts, state, RECOVERY_MARK, NOTHING_OUTSIDE),
      )
    }
    const isDone = !options.dryRun && plan.closed.length === 0
    if (options.json)
      print.json({ apiId, detached: isDone, undone: texts, notes: plan.notes, open: opened, closed: plan.closed })
    else if (options.dryRun) print.note('dry run: nothing was changed')
    else if (isDone) print.line('detached')
    if (plan.closed.length > 0)
      throw new UserError(
        `${plan.closed.join(', ')} still ${plan.closed.length === 1 ? 'calls' : 'call'} the deleted function, so every request to ${plan.closed.length === 1 ? 'it' : 'them'} fails: ` +
          `give ${plan.closed.length === 1 ? 'it' : 'them'} another authorization, or allow no authentication with ${openOptions(plan.closed)}`,
      )
  })
}

/** Permissions went with the function, and labels with the journal. */
const NOTHING_OUTSIDE = { removePermission: async () => {}, revertLabel: async () => {} }

/**
 * The authorizers that attach made for a function that was deleted.
 *
 * @throws UserError where a Sluice is still there, or nobody knows.
 */
function ownOf(apiId: string, found: readonly FoundSluice[]): FoundSluice[] {
  for (const one of found) {
    if (one.seen.is === 'hidden' && one.isAttached) throw one.seen.why
    if (one.seen.is === 'there' && one.isAttached)
      throw new UserError(`API ${apiId}: ${ownerText(one)}, which exists: ${adviceText(apiId, one)}`)
  }
  const own = found.filter(({ isAttached }) => isAttached)
  const [other] = found
  if (own.length === 0 && other) throw new UserError(`API ${apiId}: ${ownerText(other)}: ${adviceText(apiId, other)}`)
  return own
}

async function earlierOf(control: ApiControl, state: ApiState): Promise<EarlierState | undefined> {
  const deploymentId = deploymentBefore(state)
  const types = deploymentId === undefined ? undefined : await control.servedBy({ deploymentId })
  return types && { deploymentId: deploymentId!, types }
}

async function servedBy(control: ApiControl, { stages }: ApiState) {
  const served = new Map<string, ReadonlyMap<string, string> | undefined>()
  for (const { name: stage, deploymentId, deploysItself } of stages)
    if (!deploysItself) served.set(stage, await control.servedBy({ stage, deploymentId }))
  return served
}

/** What goes live with the deployments; `opened` are methods that lose authentication by edits of others. */
async function pendingOf(
  control: ApiControl,
  state: ApiState,
  own: readonly FoundSluice[],
  earlier: EarlierState | undefined,
  { reverts }: RecoveryPlan,
  open: readonly string[],
): Promise<{ lines: string[]; opened: string[] }> {
  const restored = { ...state, methods: methodsAfter(state.methods, reverts) }
  // An interrupted run may have restored some already: they are as they were before attach.
  const ours = restored.methods.filter(
    ({ key, authorization }) =>
      earlier?.types.get(key) === authorization.type ||
      reverts.some((step) => step.kind === 'method' && step.method.key === key),
  )
  const recorded = journalOf(
    state,
    own[0]!.functionArn!,
    ours.map(({ key }) => key),
  )
  const opened = new Set<string>()
  const lines: string[] = []
  for (const step of reverts) {
    const stage = step.kind === 'deployment' && state.stages.find(({ name }) => name === step.stage)
    if (!stage) continue
    const pending = await control.pendingEdits(restored, stage)
    for (const key of rejectOpening(pending, restored, stage, recorded, open)) opened.add(key)
    lines.push(...pendingText(stage.name, pending))
  }
  return { lines, opened: [...opened] }
}

/** What tells the methods that attach had switched from those that somebody else opens. */
const journalOf = (state: ApiState, functionArn: string, keys: readonly string[]): AttachJournal => ({
  attachment: {
    id: '',
    apiId: state.id,
    apiKind: state.kind,
    apiName: state.name,
    functionArn,
    phase: 'detaching',
    startedAt: '',
    methods: keys,
    stages: {},
    newestDeploymentAt: -1,
  },
  steps: keys.map((key) => ({ kind: 'method', key, before: { type: 'NONE' } })),
})
