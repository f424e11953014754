import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { StoredItem } from '../../provisioning/documents'
import { isInFile, type PolicySetItem } from '../../provisioning/tiers-file'
import { UserError } from '../exit'
import { DEFAULT_IDENTITY, type SourceSettings } from '../facade/policies'
import { CONFIG_TABLE, STATE_TABLE } from '../facade/tables'
import { type Clock, printed } from '../facade/values'
import { counted, duration } from '../terminal/output'
import { settingsModes, switchText } from '../tiers/mode-switch'
import { readItem, readPolicySet } from '../tiers/read-policy-set'
import { titleOf } from '../tiers/titles'
import { apisIn, unknownWords } from './api-labels'
import { isInvalidSwitch, isStray, removal } from './broken-items'
import { type Check, checked, notChecked } from './check'
import type { ConfigTable } from './config-table'
import { checkCosts } from './costs-check'

/**
 * From the first on, `Retry-After` is wrong by seconds; from the second on, this machine is in other windows than the
 * authorizer.
 */
const CLOCK_WARNING_MS = 2000
const CLOCK_FAILURE_MS = 60_000

/**
 * Checks that a table exists, answers, and has the right key.
 *
 * @returns also whether further checks of it make sense: it is there, and of the right kind, as far as can be seen.
 */
export async function checkTable(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  kind: 'config' | 'state',
): Promise<readonly [check: Check, isUsable: boolean]> {
  let isUsable = true
  const option = kind === 'config' ? '--table' : '--state-table'
  const wanted = kind === 'config' ? [CONFIG_TABLE.partitionKey, CONFIG_TABLE.sortKey] : [STATE_TABLE.partitionKey]
  const remedy = `name it with ${option}, check the Region, deploy the stack, or allow dynamodb:DescribeTable`
  const check = await checked(`${kind} table`, remedy, async () => {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName })).catch((error) => {
      isUsable = error.name !== 'ResourceNotFoundException'
      throw isUsable ? error : new UserError(`there is no table ${tableName}`)
    })
    const keys = (Table?.KeySchema ?? []).map(({ AttributeName }) => AttributeName)
    const typeOf = (key: string) =>
      Table?.AttributeDefinitions?.find(({ AttributeName }) => AttributeName === key)?.AttributeType
    const other = keys.join() === wanted.join() ? wanted.find((key) => typeOf(key) !== 'S') : undefined
    if (keys.join() !== wanted.join()) {
      isUsable = false
      return {
        status: 'FAILED',
        found: `${tableName} has the keys ${keys.join(', ')}, not ${wanted.join(', ')}`,
        remedy: 'this is a different table: see the outputs of the stack',
      }
    }
    if (other !== undefined) {
      isUsable = false
      return {
        status: 'FAILED',
        found: `the key ${other} of ${tableName} must be a string (S), got ${typeOf(other)}`,
        remedy: 'make the table anew: createStateTable of the library, createConfigTable, or the stack',
      }
    }
    if (Table?.TableStatus !== 'ACTIVE')
      return { status: 'FAILED', found: `${tableName} is ${Table?.TableStatus}`, remedy: 'wait until it is ACTIVE' }
    return { status: 'ok', found: `${tableName} is reachable` }
  })
  return [check, isUsable]
}

/** Checks that show what the settings say. */
export const OF_SETTINGS = ['identity', 'base paths'] as const

/** Checks that tiers, routes and settings are valid, and shows the order of identity sources. */
export async function checkConfiguration(table: ConfigTable): Promise<Check[]> {
  const remedy =
    'sluice tiers export > tiers.yaml, fix what is named above, sluice tiers apply tiers.yaml (--prune where an item goes)'
  let identity = DEFAULT_IDENTITY
  let basePaths: readonly string[] = []
  let [scopes, mode, costs]: [Check[], Check[], Check[]] = [[], [], []]
  let isRead = false
  const configuration = await checked('configuration', remedy, async () => {
    const stored = await table.policySet()
    isRead = true
    const items = stored.map(({ item }) => item)
    scopes = checkApis(stored)
    const switched = switchText(items)
    if (switched !== undefined && !items.some(isInvalidSwitch))
      mode = [{ name: 'limits', status: 'warning', found: switched, remedy: 'sluice on' }]
    mode.push(...checkModes(items))
    if (!items.some(isInFile))
      return {
        status: 'FAILED',
        found: 'the table has no tiers, so no request is counted',
        remedy: 'sluice tiers apply tiers.yaml',
      }
    const { issues, configuration } = readPolicySet(items)
    const { tiers, routes, settings, scoped } = configuration.policies
    const ofSome = scoped ? [...scoped.tiers.values()].flat().length : 0
    identity = settings.identity
    basePaths = settings.basePaths
    costs = checkCosts(configuration.policies)
    const others = items.filter((item) => isStray(item) || isInvalidSwitch(item))
    const isOfFile = issues.length > others.flatMap((item) => readItem(item).issues).length
    const remedies = [...(isOfFile ? [remedy] : []), ...others.map(({ sk }) => removal(sk))]
    if (issues.length > 0) return { status: 'FAILED', found: issues.join('; '), remedy: remedies.join('; ') }
    return { status: 'ok', found: `${counted(tiers.size + ofSome, 'tier')}, ${counted(routes.length, 'route')}` }
  })
  if (!isRead) return [configuration, ...notChecked(OF_SETTINGS, 'the configuration cannot be read')]
  const order = identity.map(sourceText).join(', then ')
  const explanation =
    identity === DEFAULT_IDENTITY ? 'the default order, because settings has no identity' : 'as configured in settings'
  const bases =
    basePaths.length > 0
      ? basePaths.join(', ')
      : 'none: if a custom domain adds one to an API’s paths, name it in settings.basePaths'
  return [
    configuration,
    ...mode,
    { name: 'identity', status: 'ok', found: `${order} (${explanation})` },
    { name: 'base paths', status: 'ok', found: bases },
    ...checkAddress(identity),
    ...scopes,
    ...costs,
  ]
}

/** Warns of settings by which limits are not enforced. */
const checkModes = (items: readonly PolicySetItem[]): Check[] =>
  settingsModes(items).map(({ sk, text }) => ({
    name: 'limits',
    status: 'warning',
    found: text,
    remedy: `sluice tiers export > tiers.yaml, take mode out of ${printed(sk)}, or that out of the file, sluice tiers apply tiers.yaml --prune`,
  }))

/** Checks that items for some APIs name known APIs. No result if no item names APIs. */
function checkApis(items: readonly StoredItem[]): Check[] {
  const apis = apisIn(items)
  const unknown = unknownWords(items)
  const known = apis.map(({ id, label, name }) => `${label ?? name ?? ''} (${id})`).join(', ')
  if (unknown.length > 0) {
    const found = unknown
      .map(({ sk, word }) => `${titleOf(sk)} names API ${printed(word)}, which is not an API’s id, label or name here`)
      .join('; ')
    return [
      {
        name: 'apis',
        status: 'warning',
        found,
        remedy: 'sluice apis label ID LABEL; until then it applies to no request',
      },
    ]
  }
  return apis.length === 0 ? [] : [{ name: 'apis', status: 'ok', found: known }]
}

/** Warns of requests that bypass the proxies in front: their callers can set the headers that identify them. */
function checkAddress(identity: readonly SourceSettings[]): Check[] {
  return identity.flatMap((one): Check[] => {
    if (one.source !== 'ip' || (one.trustedHops === 0 && !one.viewerAddress)) return []
    const header = one.viewerAddress ? 'CloudFront-Viewer-Address' : `X-Forwarded-For, trustedHops ${one.trustedHops}`
    const remedy =
      'if callers can reach the API directly, they can choose their address: block that, see "Close the direct way" in docs/identity.md'
    return [{ name: 'address', status: 'warning', found: `read from ${header}`, remedy }]
  })
}

/** `header x-user`, `jwt https://issuer.example`, `ip`. */
function sourceText(settings: SourceSettings): string {
  if ('name' in settings) return `${settings.source} ${settings.name}`
  if (settings.source === 'jwt') return `jwt ${settings.issuer}`
  return settings.source
}

/** Checks that this machine's clock matches the service's, from the `Date` of an answer (whole seconds). */
export async function checkClock(client: DynamoDBClient, tableName: string, clock: Clock): Promise<Check> {
  return checked('clock', 'see the checks of the tables', async () => {
    let skewMs: number | undefined
    const name = 'sluiceClock'
    client.middlewareStack.add(
      (next) => async (args) => {
        const sentAt = clock()
        const result = await next(args)
        const { headers = {} } = result.response as { readonly headers?: Readonly<Record<string, string>> }
        const date = Date.parse(headers.date ?? '')
        // The service wrote it between sending and receiving, some time within that second.
        if (!Number.isNaN(date)) skewMs = date < sentAt - 1000 ? date + 1000 - sentAt : Math.max(0, date - clock())
        return result
      },
      { step: 'deserialize', name },
    )
    try {
      await client.send(new DescribeTableCommand({ TableName: tableName }))
    } finally {
      client.middlewareStack.remove(name)
    }
    if (skewMs === undefined)
      return {
        status: 'warning',
        found: 'the service’s answer has no date',
        remedy: 'none needed outside AWS',
      }
    const off = Math.abs(skewMs)
    if (off < CLOCK_WARNING_MS) return { status: 'ok', found: 'matches the service’s clock' }
    const found = `${duration(off)} ${skewMs < 0 ? 'ahead of' : 'behind'} the service`
    return {
      status: off < CLOCK_FAILURE_MS ? 'warning' : 'FAILED',
      found,
      remedy: 'set this machine’s clock, which usage and peek use',
    }
  })
}
