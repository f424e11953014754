import { gather } from '../arguments'
import { attachMany } from '../attach/attach-many'
import { type OpenedApi, withApi } from '../attach/open'
import { type AttachRequest, planOne, USUAL_STATUS_CODES } from '../attach/plan-one'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions, AttachRequest {
  readonly all?: boolean
  readonly tag?: readonly string[]
  readonly except?: readonly string[]
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export const addAttach: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'attach [api-id]',
    'Put Sluice in front of an existing API. Each step is recorded, so that detach can restore the API.',
    [
      'sluice attach a1b2c3d4e5 --stage prod --dry-run',
      "sluice attach a1b2c3d4e5 --replace --open 'GET /pets'",
      'sluice attach a1b2c3d4e5 --stage prod --as shop',
      'sluice attach --tag team=shop --stage prod --dry-run',
    ],
  )
    .option('--all', 'all APIs of the Region, by one plan and one question')
    .option('--tag <key=value>', 'all APIs with this tag; repeatable: with all of the tags', gather)
    .option('--except <api-id>', 'with --all or --tag: leave this API out; repeatable', gather)
    .option('--stage <name>', 'the stage to deploy (default: the only stage)')
    .option('--methods <list>', 'only these methods or routes, such as "GET /pets,POST /pets"')
    .option('--replace', 'also switch methods that have another authorizer, if Sluice verifies the same')
    .option('--open <method>', 'let this method lose authentication that Sluice does not verify; repeatable', gather)
    .option(
      '--headers [codes]',
      `HTTP APIs: add rate-limit headers to responses with these status codes (${USUAL_STATUS_CODES.join(',')})`,
    )
    .option('--as <label>', 'unique label of the API for "apis", metrics and the log')
    .option('--function <name>', "Sluice's function by name or ARN (the stack's output AuthorizerFunctionArn)")
    .option('--dry-run', 'show what would be done without doing it')
    .option('-y, --yes', 'do not ask for confirmation')
    .action((apiId: string | undefined, options: Options) => {
      const isMany = options.all === true || options.tag !== undefined
      if (isMany !== (apiId === undefined))
        throw new UserError('give the id of an API, or --all or --tag for several, and not both')
      if (apiId === undefined) return attachMany(session, options)
      if (options.except) throw new UserError('--except goes with --all or --tag')
      return withApi(session, options, apiId, (opened) => attach(session, apiId, options, opened))
    })
}

async function attach(session: Session, apiId: string, options: Options, opened: OpenedApi): Promise<void> {
  const { print } = session
  const planned = await planOne(session, apiId, options, opened)
  const { steps, notes, open, pending } = planned
  if (!options.json) {
    print.line(planned.title)
    for (const step of steps) print.line(`  ${step}`)
    for (const note of notes) print.note(note)
    for (const line of planned.pendingLines) print.note(line)
  }
  const { stage, function: functionArn } = planned
  const answer = { apiId, stage, function: functionArn, steps, notes, open, label: options.as, pending }
  if (options.dryRun) {
    if (options.json) print.json({ ...answer, attached: false })
    else print.note('dry run: nothing was changed')
    return
  }
  if (planned.isDue) {
    const as = options.as === undefined ? '' : ` as ${printed(options.as)}`
    await confirm(
      `Attach Sluice to API ${apiId}${as}${open.length > 0 ? `, and open ${open.join(', ')}` : ''}?`,
      session.io,
      options,
    )
    await planned.run()
  }
  if (options.json) print.json({ ...answer, attached: true })
  else {
    print.line(steps.length > 0 ? `attached: ${steps.length} steps` : 'already attached, nothing to do')
    if (options.as !== undefined) print.line(`label ${printed(options.as)}`)
    if (open.length > 0) print.line(`now without authentication: ${open.join(', ')}`)
  }
}
