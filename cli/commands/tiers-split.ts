import { InvalidArgumentError } from 'commander'
import { neverPassing, partsOf, sharedNumbers, splitTiers } from '../../provisioning/region-shares'
import type { RegionShares } from '../../provisioning/shares-by-region'
import { checkTiersFile } from '../../provisioning/tiers-file'
import { type AddCommand, describeCommand } from '../command'
import { UserError } from '../exit'
import { readTiersFile, toYaml } from '../tiers/tiers-yaml'

interface SplitOptions {
  readonly share: RegionShares
  readonly for?: string
  readonly json?: boolean
}

export const addTiersSplit: AddCommand = (group, session) => {
  describeCommand(group, 'split <file>', 'Print how Regions share the limits of a tiers file. Needs no table.', [
    'sluice tiers split tiers.yaml --share eu-west-1=60% --share us-east-1=40%',
    'sluice tiers split tiers.yaml --share eu-west-1=60% --share us-east-1=40% --for eu-west-1 > tiers.eu-west-1.yaml',
  ])
    .option('--json', 'print JSON')
    .requiredOption(
      '--share <region=percent>',
      'a Region’s share of each limit; 100% in total; repeatable',
      shareByRegion,
    )
    .option('--for <region>', 'print this Region’s tiers file')
    .action((path: string, options: SplitOptions) => {
      const { share: shares, for: region, json } = options
      if (region !== undefined && !Object.hasOwn(shares, region))
        throw new UserError(`--for must be one of ${Object.keys(shares).join(', ')}, got "${region}"`)
      const whole = readTiersFile(path)
      const files = splitTiers(whole, shares, path)
      for (const [name, file] of Object.entries(files)) {
        checkTiersFile(file, `${path} for ${name}`)
        if (region === undefined || region === name)
          for (const warning of neverPassing(whole, file, name)) session.print.note(`warning: ${warning}`)
      }
      if (region !== undefined) {
        const flags = Object.entries(shares).map(([name, percent]) => `--share ${name}=${percent}%`)
        const heading = `# The limits of one Region, made from ${path}, to be changed there:\n# sluice tiers split ${path} ${flags.join(' ')} --for ${region}\n`
        if (json) session.print.json(files[region])
        else session.print.file(heading + toYaml(files[region]!))
        return
      }
      const numbers = sharedNumbers(whole).map((one) => ({ ...one, parts: partsOf(one.value, shares) }))
      if (json)
        session.print.json(
          numbers.map(({ place, policy, field, value, parts }) => ({ place, policy, [field]: value, parts })),
        )
      else
        session.print.table(
          ['where', 'policy', '', 'all', ...Object.keys(shares)],
          numbers.map(({ place, policy, field, value, parts }) => [
            place,
            policy,
            field,
            ...[value, ...Object.values(parts)].map(String),
          ]),
        )
    })
}

/** `eu-west-1=60%`, for an option that is given several times. */
function shareByRegion(text: string, before: RegionShares = {}): RegionShares {
  const [, region, percent] = /^([a-z0-9-]{1,64})=(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text) ?? []
  if (region === undefined)
    throw new InvalidArgumentError('It must be a Region and its share, such as "eu-west-1=60%".')
  if (Object.hasOwn(before, region)) throw new InvalidArgumentError(`"${region}" is given twice.`)
  return { ...before, [region]: Number(percent) }
}
