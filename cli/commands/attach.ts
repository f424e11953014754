import { printed } from '../../limiter/errors'
import { labelIssues } from '../../provisioning/api-labels'
import { gather, toMethodKey } from '../arguments'
import { type ApiState, authorizationText, kindText, type Method, usesAuthorizer } from '../attach/api-state'
import { attachOrRevert } from '../attach/attach-or-revert'
import { readAll } from '../attach/calls'
import { rejectOpening, replacementOf, type Verification } from '../attach/losses'
import { existing, type OpenedApi, withApi } from '../attach/open'
import { rejectOtherSluice } from '../attach/other-sluice'
import { type AttachOptions, type AttachPlan, ownAuthorizer, planAttach } from '../attach/plan-attach'
import { planLabel } from '../attach/plan-label'
import { type AttachContext, pendingText, stepText } from '../attach/run-attach'
import { notedAuthorizer, notedMethod } from '../attach/steps'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly stage?: string
  readonly methods?: string
  readonly function?: string
  readonly replace?: boolean
  readonly open?: readonly string[]
  readonly headers?: string | true
  readonly as?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** Answers that carry the limit's headers, where nothing else is said: API Gateway maps exact status codes only. */
const USUAL_STATUS_CODES = ['200', '201', '202', '204', '400', '404']

export const addAttach: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'attach <api-id>',
    'Put Sluice in front of an existing API. Each step is recorded, so that detach can restore the API.',
    [
      'sluice attach a1b2c3d4e5 --stage prod --dry-run',
      "sluice attach a1b2c3d4e5 --methods 'GET /pets,POST /pets' --yes",
      'sluice attach a1b2c3d4e5 --stage prod --replace',
      "sluice attach a1b2c3d4e5 --replace --open 'GET /pets'",
      'sluice attach a1b2c3d4e5 --stage prod --as shop',
    ],
  )
    .option('--stage <name>', 'the stage to deploy (default: the only stage)')
    .option('--methods <list>', 'only these methods or routes, such as "GET /pets,POST /pets"')
    .option(
      '--replace',
      'also switch methods that have another authorizer, if Sluice verifies the same; detach restores it',
    )
    .option(
      '--open <method>',
      'allow this method to lose authentication that Sluice does not verify; repeatable',
      gather,
    )
    .option(
      '--headers [codes]',
      `HTTP APIs: add rate-limit headers to responses with these status codes (${USUAL_STATUS_CODES.join(',')})`,
    )
    .option('--as <label>', 'label of the API for "apis", metrics and the log; labels are unique')
    .option('--function <name>', "Sluice's function by name or ARN (the stack's output AuthorizerFunctionArn)")
    .option('--dry-run', 'show the steps without doing them')
    .option('-y, --yes', 'do not ask')
    .action((apiId: string, options: Options) =>
      withApi(session, options, apiId, (opened) => attach(session, apiId, options, opened)),
    )
}

async function attach(session: Session, apiId: string, options: Options, opened: OpenedApi): Promise<void> {
  const { print } = session
  const { recorded, label } = opened
  const control = existing(opened, apiId)
  if (options.as !== undefined) checkWord(apiId, options.as)
  const said = { ...options, function: options.function ?? opened.recorded?.attachment.functionArn }
  const target = await opened.findFunction(said)
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

  if (!options.json) {
    print.line(
      `${kindText(control.kind)} API ${apiId} "${state.name}", stage ${plan.stage.name}, function ${target.arn}`,
    )
    for (const step of steps) print.line(`  ${stepText(step, state)}`)
    for (const note of plan.notes) print.note(note)
    for (const line of pending.lines) print.note(line)
  }
  const answer = {
    apiId,
    stage: plan.stage.name,
    function: target.arn,
    steps: steps.map((step) => stepText(step, state)),
    notes: plan.notes,
    open,
    label: options.as,
  }
  if (options.dryRun) {
    if (options.json) print.json({ ...answer, pending: pending.edits, attached: false })
    else print.note('dry run: nothing was changed')
    return
  }
  const isWider = recorded !== undefined && !attachOptions.methods && recorded.attachment.methods !== 'all'
  if (steps.length > 0 || isWider || recorded?.attachment.phase !== 'attached') {
    const as = options.as === undefined ? '' : ` as ${printed(options.as)}`
    await confirm(
      `Attach Sluice to API ${apiId}${as}${open.length > 0 ? `, and open ${open.join(', ')}` : ''}?`,
      session.io,
      options,
    )
    const confirmKept = async (method: Method) => {
      const authorizers = await control.readAuthorizers()
      const now = replacementOf(
        method,
        { ...state, authorizers },
        await checks(await opened.findFunction(said)),
        target,
      )
      if ('kept' in now) return
      const what = authorizationText(method.authorization, authorizers)
      throw new UserError(`${method.key} keeps ${what}: what Sluice verifies was changed meanwhile (${now.lost})`)
    }
    await session.io.interrupts.during(async (pressed) => {
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
    })
  }
  if (options.json) print.json({ ...answer, pending: pending.edits, attached: true })
  else {
    print.line(steps.length > 0 ? `attached: ${steps.length} steps` : 'already attached, nothing to do')
    if (options.as !== undefined) print.line(`label ${printed(options.as)}`)
    if (open.length > 0) print.line(`now without authentication: ${open.join(', ')}`)
  }
}

function checkWord(apiId: string, label: string): void {
  const issues = labelIssues([], apiId, { label })
  if (issues.length > 0) throw new UserError(`--as: ${issues.join('; ')}`)
}

function toAttachOptions({ stage, methods, replace, open, headers }: Options, kind: ApiState['kind']): AttachOptions {
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
