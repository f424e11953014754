import { printed } from '../../limiter/errors'
import { readAll } from '../attach/calls'
import { driftOf } from '../attach/drift'
import { existing, withApi } from '../attach/open'
import { parseFunctionArn } from '../attach/wanted'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'

export const addStatus: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'status <api-id>',
    'Compare an API with what attach configured, without changing it. The exit code is 1 if something differs.',
    ['sluice status a1b2c3d4e5', 'sluice status a1b2c3d4e5 --json'],
  ).action((apiId: string, options: OutputOptions) =>
    withApi(session, options, apiId, async (opened) => {
      const { print } = session
      const { recorded, policyOf } = opened
      if (!recorded) {
        existing(opened, apiId)
        if (options.json) return print.json({ apiId, attached: false, drift: [] })
        return print.line(`API ${apiId} is not attached`)
      }
      const control = existing(opened, apiId)
      const { attachment, steps } = recorded
      const target = parseFunctionArn(attachment.functionArn)
      if (!target) throw new UserError(`the journal of API ${apiId} names no valid function: somebody edited it`)
      const policy = policyOf(attachment.functionArn)
      const { state, statements, called } = await readAll({
        state: () => control.read(),
        statements: () => policy.statements(),
        called: () => opened.label.read(),
      })
      const drift = driftOf(state, recorded, target, statements, called)
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
          `${state.kind} API ${apiId} "${state.name}"${label === undefined ? '' : `, label ${printed(label)},`} is attached to ${target.arn} since ${attachment.startedAt}, ${methods} methods`,
        )
        for (const sentence of drift) print.line(`  ${print.style('yellow', sentence)}`)
        if (drift.length === 0) print.line(print.style('green', 'the API is as attach configured it'))
      }
      if (drift.length > 0) {
        throw new UserError(
          `${drift.length === 1 ? 'one thing is' : `${drift.length} things are`} not as attach configured it: repair with sluice attach ${apiId}`,
        )
      }
    }),
  )
}
