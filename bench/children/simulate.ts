import { parse } from 'yaml'
import { FieldMap } from '../../cli/simulate/lines/field-map'
import { type LogStats, readLogs } from '../../cli/simulate/lines/read-log'
import { requestMaker } from '../../cli/simulate/lines/to-request'
import { Side } from '../../cli/simulate/side'
import { Simulation } from '../../cli/simulate/simulation'
import { AccessList } from '../../lambda/config-table/items/access-list'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { ACCESS } from '../access-log'

/** Reads and decides a log, and prints processor seconds and the most memory that the process has had. */
async function main(file: string): Promise<void> {
  const policies = parseTiersFile(parse(ACCESS.tiers), 'tiers.yaml')
  const rules = { title: 'tiers.yaml', configuration: { policies, access: new AccessList([]) }, hasAccess: false }
  const simulation = new Simulation([new Side(rules, 1, 56)], { ipv6Prefix: 56 })
  const stats: LogStats = { lines: 0, unreadable: 0, examples: [], wholeSeconds: 0, bytes: 0, total: undefined }
  const map = new FieldMap()
  const options = { stdin: process.stdin, map, toRequest: requestMaker(map, []), reorderMs: 60_000 }
  const start = process.cpuUsage()
  for await (const piece of readLogs([file], stats, options)) await simulation.replay(piece)
  const { user, system } = process.cpuUsage(start)
  const megabytes = process.resourceUsage().maxRSS / 1024
  console.log(JSON.stringify({ requests: simulation.requests, cpuSeconds: (user + system) / 1e6, megabytes }))
}

void main(process.argv[2]!)
