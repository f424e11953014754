import { withApi } from '../attach/open'
import { planDetach } from '../attach/plan-detach'
import { pendingText } from '../attach/run-attach'
import { runDetach, undoText } from '../attach/run-detach'
import { type AddCommand, type Answering, describeAnswering } from '../command'
import { confirm } from '../question'

interface Options extends Answering {
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export const addDetach: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'detach <api-id>',
    'Take Sluice away from an API again: what attach changed is put back, and what others changed since stays.',
    ['sluice detach a1b2c3d4e5 --dry-run', 'sluice detach a1b2c3d4e5 --yes'],
  )
    .option('--dry-run', 'show what would be done')
    .option('-y, --yes', 'do not ask')
    .action((apiId: string, options: Options) =>
      withApi(session, options, apiId, async ({ control, journal, remembered, policyOf }) => {
        const { print, io } = session
        if (!remembered) {
          if (options.json) print.json({ apiId, detached: true, undone: [], changed: [] })
          else print.line(`API ${apiId} is not attached, nothing to do`)
          return
        }
        const policy = policyOf(remembered.attachment.functionArn)
        const state = await control?.read()
        const { undos, changed, notes } = planDetach(state, remembered, await policy.statements())
        const texts = undos.map((undo) => undoText(undo, state?.authorizers))
        if (!options.json) {
          for (const text of texts) print.line(`  ${text}`)
          for (const sentence of changed) print.note(`not as attach left it, and left alone: ${sentence}`)
          for (const note of notes) print.note(note)
          for (const undo of undos) {
            const stage = undo.kind === 'deployment' && undo.to === undefined && state?.stages.find(({ name }) => name === undo.stage)
            if (!stage || !state) continue
            const restored = state.methods.map((method) => {
              const back = undos.find((one) => one.kind === 'method' && one.method.key === method.key)
              return back?.kind === 'method' ? { ...method, authorization: back.to } : method
            })
            for (const line of pendingText(stage.name, await control!.pendingEdits({ ...state, methods: restored }, stage)))
              print.note(line)
          }
        }
        if (!options.dryRun) {
          await confirm(`Detach Sluice from API ${apiId}?`, io, options)
          const progress = (text: string) => print.note(text)
          await io.interrupts.during((pressed) => runDetach({ control, journal, policy, progress, pressed }, remembered, undos))
        }
        if (options.json) print.json({ apiId, detached: options.dryRun !== true, undone: texts, changed, notes })
        else print[options.dryRun ? 'note' : 'line'](options.dryRun ? 'nothing is changed: this was a dry run' : 'detached')
      }),
    )
}
