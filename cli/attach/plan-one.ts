import { labelIssues } from '../../provisioning/api-labels'
import { toMethodKey } from '../arguments'
import type { Session } from '../command'
import { UserError } from '../exit'
import { type ApiState, authorizationText, kindText, type Method, usesAuthorizer } from './api-state'
import { attachOrRevert } from './attach-or-revert'
import { readAll } from './calls'
import { rejectOpening, replacementOf, type Verification } from './losses'
import { existing, type OpenedApi } from './open'
import { rejectOtherSluice } from './other-sluice'
import { type AttachOptions, type AttachPlan, ownAuthorizer, planAttach } from './plan-attach'
import { planLabel } from './plan-label'
import { type AttachContext, pendingText } from './run-attach'
import { stepText } from './step-kinds'
import { notedAuthorizer, notedMethod } from './steps'

/** Answers that carry the limit's headers, where nothing else is said: API Gateway maps exact status codes only. */
export const USUAL_STATUS_CODES = ['200', '201', '202', '204', '400', '404']

/** What somebody asked for. */
export interface AttachRequest {
  readonly stage?: string
  readonly methods?: string
  readonly function?: string
  readonly replace?: boolean
  readonly open?: readonly string[]
  readonly headers?: string | true
  readonly as?: string
}

/** What attach would do with one API. */
export interface PlannedAttach {
  /** `REST API a1b2c3d4e5 "shop", stage prod, function arn:…`. */
  readonly title: string
  readonly kind: ApiState['kind']
  readonly stage: string
  readonly function: string
  /** Its steps, a sentence each. */
  readonly steps: readonly string[]
  readonly notes: readonly string[]
  /** Undeployed edits of others that go live with it; `pendingLines` say so to people. */
  readonly pending: readonly string[]
  readonly pendingLines: readonly string[]
  /** Methods that lose authentication, as was allowed. */
  readonly open: readonly string[]
  /** Whether anything is to be done. */
  readonly isDue: boolean
  /** Does it, or reverts what it did. */
  run(): Promise<void>
}

/** Works out what attach would do with an API. @throws UserError where that would not be right */
export async function planOne(
  session: Session,
  apiId: string,
  options: AttachRequest,
  opened: OpenedApi,
): Promise<PlannedAttach> {
  const { print } = session
  const { recorded, label } = opened
  const control = existing(opened, apiId)
  if (options.as !== undefined) checkWord(apiId, options.as)
  const stated = { ...options, function: options.function ?? opened.recorded?.attachment.functionArn }
  const target = await opened.findFunction(stated)
  const policy = opened.policyOf(target.arn)
  const { state, statements, called } = await readAll({
    state: () => control.read(),
    statements: () => policy.statements(),
    called: () => label.read(),
  })
  const own = ownAuthorizer(state, recorded, target.arn)
  const others = state.authorizers.filter(({ id }) => id !== own?.id)
  rejectOtherSluice(apiId, await opened.sluices(others), target.arn)
  const attachOptions = toAttachOptions(options, control.kind)
  const labelStep = planLabel(state, options.as, called, recorded)
  if (labelStep) label.check(options.as!)
  const checks = async ({ upstream, isPublic } = target): Promise<Verification> => ({
    upstream,
    isPublic,
    policies: await opened.policies(),
  })
  const plan = planAttach(
    state,
    recorded,
    attachOptions,
    target,
    statements,
    attachOptions.replace ? await checks() : {},
  )
  const pending = await pendingOf(opened, state, plan, attachOptions)
  const unlabelled = plan.steps.map((step) =>
    step.kind === 'deployment'
      ? { ...step, pending: union(step.pending, pending.edits), closed: union(step.closed ?? [], pending.closes) }
      : step,
  )
  // First, so that the first request that reaches Sluice already has the label.
  const steps = labelStep ? [labelStep, ...unlabelled] : unlabelled
  const lost = steps.flatMap((step) => (step.kind === 'method' && step.lost !== undefined ? [step.key] : []))
  const open = union(lost, pending.opened)

  const isWider = recorded !== undefined && !attachOptions.methods && recorded.attachment.methods !== 'all'
  const confirmKept = async (method: Method) => {
    const authorizers = await control.readAuthorizers()
    const now = replacementOf(
      method,
      { ...state, authorizers },
      await checks(await opened.findFunction(stated)),
      target,
    )
    if ('kept' in now) return
    const what = authorizationText(method.authorization, authorizers)
    throw new UserError(`${method.key} keeps ${what}: what Sluice verifies was changed meanwhile (${now.lost})`)
  }
  return {
    title: `${kindText(control.kind)} API ${apiId} "${state.name}", stage ${plan.stage.name}, function ${target.arn}`,
    kind: control.kind,
    stage: plan.stage.name,
    function: target.arn,
    steps: steps.map((step) => stepText(step, state)),
    notes: plan.notes,
    pending: pending.edits,
    pendingLines: pending.lines,
    open,
    isDue: steps.length > 0 || isWider || recorded?.attachment.phase !== 'attached',
    run: () =>
      session.io.interrupts.during(async (pressed) => {
        const context: AttachContext = {
          control,
          journal: opened.journal,
          policy,
          label,
          progress: (text) => print.note(text),
          pressed,
        }
        const agreed = { state, steps, target, own, methods: attachOptions.methods ?? ('all' as const) }
        await attachOrRevert(context, recorded, agreed, confirmKept)
      }),
  }
}

function checkWord(apiId: string, label: string): void {
  const issues = labelIssues([], apiId, { label })
  if (issues.length > 0) throw new UserError(`--as: ${issues.join('; ')}`)
}

function toAttachOptions(
  { stage, methods, replace, open, headers }: AttachRequest,
  kind: ApiState['kind'],
): AttachOptions {
  const list = methods
    ?.split(',')
    .map(toMethodKey)
    .filter((key) => key !== '')
  if (list?.length === 0)
    throw new UserError(`--methods must name methods such as "GET /pets,POST /pets", got "${methods}"`)
  if (headers !== undefined && kind === 'REST')
    throw new UserError('--headers is for HTTP APIs: on a REST API, set the headers in the backend or in mappings')
  if (headers !== undefined && kind === 'WEBSOCKET')
    throw new UserError('--headers is for HTTP APIs: messages of a WebSocket have no headers')
  const codes = headers === true ? USUAL_STATUS_CODES : headers?.split(',').map((code) => code.trim())
  const wrong = codes?.find((code) => !/^[2-5]\d\d$/.test(code))
  if (wrong !== undefined) throw new UserError(`--headers must be status codes such as "200,404", got "${wrong}"`)
  return { stage, methods: list, replace: replace === true, open: (open ?? []).map(toMethodKey), headers: codes }
}

const union = (some: readonly string[], others: readonly string[]): string[] => [...new Set([...some, ...others])]

/**
 * Edits that are not this Sluice's own and go live with the deployment: `opened` are methods that lose authentication
 * by them, as was allowed.
 */
async function pendingOf(
  { control, recorded }: OpenedApi,
  state: ApiState,
  { stage, steps }: AttachPlan,
  { open }: AttachOptions,
): Promise<{ edits: readonly string[]; lines: string[]; opened: string[]; closes: readonly string[] }> {
  if (!steps.some(({ kind }) => kind === 'deployment')) return { edits: [], lines: [], opened: [], closes: [] }
  // What an interrupted attach has switched is not somebody else's edit.
  const methods = state.methods.map((method) => {
    const before =
      recorded &&
      usesAuthorizer(method.authorization, notedAuthorizer(recorded)) &&
      notedMethod(recorded, method.key)?.before
    return before ? { ...method, authorization: before } : method
  })
  const pending = await control!.pendingEdits({ ...state, methods }, stage)
  const opened = rejectOpening(pending, state, stage, recorded, open)
  return { ...pending, lines: pendingText(stage.name, pending), opened }
}
