import { readFileSync } from 'node:fs'
import { Option } from 'commander'
import { wholeNumber } from '../arguments'
import { type DenialsInLog, denialsInLog } from '../callers/denials-in-log'
import { blockedRanges, isIpv4, toWafIpSet } from '../callers/waf-ip-set'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { AccessList, type IpRange } from '../facade/callers'
import { counted } from '../terminal/output'
import { accessOf } from '../tiers/read-policy-set'

interface Options extends OutputOptions {
  readonly waf?: boolean
  readonly ipVersion: '4' | '6'
  readonly fromLog?: string
  readonly top: number
}

const NO_DENIALS: DenialsInLog = { addresses: [], withoutAddress: 0 }

export const addBlockExport: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'export',
    'Print the blocked addresses for an IP set of AWS WAF: as JSON, and with --from-log those that the log shows as denied ' +
      'most often. Allowed addresses are left out.',
    [
      'sluice block export --waf > ip-set.json',
      'aws logs tail /aws/lambda/authorizer --since 1h | sluice block export --waf --from-log - --top 100',
    ],
  )
    .option('--waf', 'the only format: for --cli-input-json of `aws wafv2`')
    .addOption(new Option('--ip-version <version>', 'IP version of the set').choices(['4', '6']).default('4'))
    .option(
      '--from-log <file>',
      'the authorizer’s log, "-" for standard input; it has addresses only with logCallers "clear"',
    )
    .option('--top <count>', 'at most this many addresses of the log', wholeNumber(1), 100)
    .action(async (options: Options) => {
      if (!options.waf) throw new UserError('choose a format: --waf')
      const now = session.io.clock()
      const denied = options.fromLog === undefined ? NO_DENIALS : denialsInLog(await textOf(options.fromLog, session))
      const items = await (await session.connect(options).configTable()).policySet()
      const entries = items.flatMap(({ item }) => accessOf(item) ?? [])
      const inForce = entries.filter(({ expiresAt }) => now < expiresAt)
      const list = new AccessList(inForce)
      const worst = denied.addresses
        .filter(({ address }) => list.ofAddress(address, now) !== 'allow')
        .map(({ address }): IpRange => ({ first: address, bits: 128 }))
        .filter((range) => isIpv4(range) === (options.ipVersion === '4'))
      const ranges = [...blockedRanges(inForce), ...worst.slice(0, options.top)]
      session.print.json(toWafIpSet(ranges, options.ipVersion === '4' ? 4 : 6))
      const others = ranges.filter((range) => isIpv4(range) !== (options.ipVersion === '4')).length
      if (others > 0)
        session.print.note(
          `${counted(others, 'blocked range')} of the other IP version left out: use --ip-version ${options.ipVersion === '4' ? 6 : 4}`,
        )
      if (denied.withoutAddress > 0) {
        session.print.note(
          `${counted(denied.withoutAddress, 'denial')} without an address in the log: set the prop logCallers to 'clear' to log addresses`,
        )
      } else if (options.fromLog !== undefined && denied.addresses.length === 0)
        session.print.note('the log has no denials')
    })
}

async function textOf(path: string, { io }: Session): Promise<string> {
  if (path !== '-') {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      throw new UserError(`${path} cannot be read: ${(error as Error).message}`)
    }
  }
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
