import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { planApply } from '../tiers/apply-plan'
import { planJson, printPlan, warningsOf } from '../tiers/plan-text'
import { readTiersFile } from '../tiers/tiers-yaml'

interface Options extends OutputOptions {
  readonly prune?: boolean
}

export const addTiersDiff: AddCommand = (group, session) => {
  describeTableCommand(group, 'diff <file>', 'Show what apply would change.', ['sluice tiers diff tiers.yaml --prune'])
    .option('--prune', 'include deletions, as apply --prune would make them')
    .action(async (path: string, options: Options) => {
      const file = readTiersFile(path)
      const table = await session.connect(options).configTable()
      const items = (await table.policySet()).map(({ item }) => item)
      const plan = planApply(items, file, options.prune === true)
      const warnings = await warningsOf(plan, table, session.io.clock())
      if (options.json) session.print.json(planJson(plan, warnings))
      else printPlan(plan, warnings, session.print, Infinity)
    })
}
