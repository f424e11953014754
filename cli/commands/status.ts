import { kindText } from '../attach/api-state'
import { Calls, readAll } from '../attach/calls'
import { driftOf } from '../attach/drift'
import { JournalStore } from '../attach/journal'
import { limiterGone } from '../attach/limiter-gone'
import { existing, type OpenedApi, withApi } from '../attach/open'
import { adviceText, type FoundSluice, ownerText, readsTable } from '../attach/other-sluice'
import { parseFunctionArn } from '../attach/wanted'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import { counted } from '../terminal/output'

export const addStatus: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'status [api-id]',
    'Compare an API with what attach configured. The exit code is 1 if it differs or is another Sluice’s. Without an id: list all attached APIs.',
    ['sluice status', 'sluice status a1b2c3d4e5', 'sluice status a1b2c3d4e5 --json'],
  ).action((apiId: string | undefined, options: OutputOptions) =>
    apiId === undefined
      ? list(session, options)
      : withApi(
          session,
          options,
          apiId,
          (opened) => compare(session, apiId, options, opened),
          limiterGone(apiId, options),
        ),
  )
}

/** Lists what is on record, without looking at the APIs. */
async function list(session: Session, options: OutputOptions): Promise<void> {
  const { print } = session
  const table = await session.connect(options).configTable()
  const attachments = await new JournalStore(table, new Calls((text) => print.note(text))).list()
  if (options.json) {
    print.json(
      attachments.map(({ apiId, apiKind, apiName, functionArn, phase, startedAt, methods }) => ({
        apiId,
        kind: apiKind,
        name: apiName,
        function: functionArn,
        phase,
        since: startedAt,
        methods,
      })),
    )
  } else if (attachments.length === 0) print.line(`no API is attached (config table ${table.name})`)
  else {
    print.table(
      ['api', 'kind', 'name', 'function', 'phase', 'since', 'methods'],
      attachments.map(({ apiId, apiKind, apiName, functionArn, phase, startedAt, methods }) => [
        apiId,
        apiKind,
        apiName,
        functionArn.split(':function:')[1] ?? functionArn,
        phase,
        startedAt,
        typeof methods === 'string' ? methods : methods.join(', '),
      ]),
    )
  }
}

async function compare(session: Session, apiId: string, options: OutputOptions, opened: OpenedApi): Promise<void> {
  const { print } = session
  const { recorded, policyOf } = opened
  const control = existing(opened, apiId)
  if (!recorded) {
    const sluices = await opened.sluices(await control.readAuthorizers())
    return printUnattached(session, apiId, options, sluices, opened.configTable)
  }
  const { attachment, steps } = recorded
  const target = parseFunctionArn(attachment.functionArn)
  if (!target) throw new UserError(`the journal of API ${apiId} names no valid function: it was edited by hand`)
  const policy = policyOf(attachment.functionArn)
  const { state, statements, called } = await readAll({
    state: () => control.read(),
    statements: () => policy.statements(),
    called: () => opened.label.read(),
  })
  // Without its permission the function may be gone, too.
  const isGone = statements.length === 0 && (await policy.isGone())
  const gone = `function ${target.arn} was deleted: every request to the methods that use it fails`
  const drift = [...(isGone ? [gone] : []), ...driftOf(state, recorded, target, statements, called)]
  const label = called?.label
  const methods = steps.filter(({ kind }) => kind === 'method').length
  if (options.json)
    print.json({
      apiId,
      label,
      attached: true,
      phase: attachment.phase,
      function: target.arn,
      since: attachment.startedAt,
      methods,
      drift,
    })
  else {
    print.line(
      `${kindText(state.kind)} API ${apiId} "${state.name}"${label === undefined ? '' : `, label ${printed(label)},`} is attached to ${target.arn} since ${attachment.startedAt}, ${counted(methods, 'method')}`,
    )
    for (const sentence of drift) print.line(`  ${print.style('yellow', sentence)}`)
    if (drift.length === 0) print.line(print.style('green', 'the API is as attach configured it'))
  }
  if (drift.length > 0) {
    const repair = isGone ? `restore the API with sluice detach ${apiId}` : `repair with sluice attach ${apiId}`
    throw new UserError(
      `${drift.length === 1 ? 'one thing is' : `${drift.length} things are`} not as attach configured it: ${repair}`,
    )
  }
}

/** @throws UserError where the API is another Sluice's, or calls a function that was deleted. */
function printUnattached(
  { print }: Session,
  apiId: string,
  { json }: OutputOptions,
  sluices: readonly FoundSluice[],
  configTable: string,
): void {
  const isOurs = (one: FoundSluice) => readsTable(one, configTable)
  const other = sluices.find((one) => !isOurs(one))
  if (json)
    print.json({
      apiId,
      attached: false,
      sluices: sluices.map((one) => ({
        authorizer: one.authorizer.name,
        function: one.functionArn,
        ...(one.seen.is === 'there' ? { configTable: one.seen.configTable } : { functionIs: one.seen.is }),
        attach: one.isAttached,
      })),
      drift: [],
    })
  if (other)
    throw new UserError(`API ${apiId} is not attached here: ${ownerText(other)}. ${sentence(adviceText(apiId, other))}`)
  if (json) return
  print.line(
    sluices.length === 0
      ? `API ${apiId} is not attached`
      : `API ${apiId} is not attached by attach, and calls this limiter: ${ownerText(sluices[0]!)}`,
  )
}

const sentence = (text: string): string => text[0]!.toUpperCase() + text.slice(1)
