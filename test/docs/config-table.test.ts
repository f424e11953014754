import { Plans } from '../../lambda/charge-plans'
import { PolicySets } from '../../lambda/config-table/configuration'
import { type Client, parseClientItem } from '../../lambda/config-table/items/client-item'
import { type ConfigItem, parsePolicyItem } from '../../lambda/config-table/items/config-items'
import { SETTINGS_FIELDS } from '../../lambda/config-table/items/settings'
import { GLOBAL_FIELDS, POLICY_EXTRAS, ROUTE_FIELDS, TIER_FIELDS } from '../../lambda/config-table/items/tiers'
import { hashApiKey } from '../../lambda/identity/api-key'
import { rulesOf } from '../../lambda/rules'
import { EVENTS } from '../../lambda/telemetry/events'
import type { Mistake } from '../../limiter/errors'
import { POLICY_FIELDS } from '../../limiter/policies/parse-policies'
import { ALGORITHM_NAMES, CONCURRENCY } from '../../limiter/policies/policy'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { FakeClock, FakeLog, FakeTable, itemsOf } from '../config-table/fake-table'
import { examplesIn, explains, pageOf } from './examples'

type Item = Readonly<Record<string, unknown>> & { readonly pk: string; readonly sk: string }

const PAGE = pageOf('config-table.md')
const BLOCKS = examplesIn(PAGE, 'json').map((text) => JSON.parse(text))
const ITEMS: readonly Item[] = BLOCKS.filter((block) => 'pk' in block)
const POLICY_SET = ITEMS.filter(({ pk }) => pk === 'policy-set')
const CLIENTS = ITEMS.filter(({ pk }) => pk !== 'policy-set')

function parsed(item: Item): ConfigItem {
  const issues: Mistake[] = []
  const found = parsePolicyItem(item, issues)
  expect(issues).toEqual([])
  return found
}

function parsedClient(item: Item): Client {
  const issues: Mistake[] = []
  const found = parseClientItem(item, issues)
  expect(issues).toEqual([])
  return found!
}

/** All items of the page as one table. */
async function configuration(items: readonly Item[], log: FakeLog) {
  const table = new FakeTable()
  table.answers = () => ({ Items: itemsOf(items) })
  const reading = {
    calls: sdkCalls(table.client),
    tableName: 'config',
    clock: new FakeClock().read,
    ttlMs: 30_000,
    deadlineMs: 2000,
  }
  return (await new PolicySets({ ...reading, log: log.write }).current())!
}

describe('docs/config-table.md', () => {
  it.each(POLICY_SET.map((item) => [item.sk, item]))('has an example of %s that is right', (_, item) => {
    expect(Object.values(parsed(item)).filter((part) => part !== undefined)).toHaveLength(1)
  })

  it.each(CLIENTS.map((item) => [`${item.id} by ${item.pk}`, item]))(
    'has an example of the client %s that is right',
    (_, item) => {
      expect(item.sk).toBe('client')
      expect(item.pk).toMatch(
        /^client#([0-9a-f]{64}|api-gateway-key:.+|client-certificate:[0-9a-f]{64}|user:.+|client:.+)$/,
      )
      expect(parsedClient(item).id).toBe(item.id)
    },
  )

  it('tells how a key becomes the key of its item', () => {
    const [, apiKey] = /printf %s (\S+) \| sha256sum/.exec(PAGE)!
    expect(CLIENTS[0]!.pk).toBe(`client#${hashApiKey(apiKey!)}`)
  })

  it('has an example of every kind of item', () => {
    const entries = POLICY_SET.flatMap((item) => parsed(item).access ?? [])
    const kinds = [
      ...POLICY_SET.flatMap((item) => Object.keys(parsed(item))),
      ...entries.map(
        ({ access, whom }) =>
          `${access} ${'client' in whom ? 'client' : whom.range.bits === 128 ? 'address' : 'range'}`,
      ),
      ...CLIENTS.map(({ pk }) => `client by ${/^client#(?:(.+?):|[0-9a-f]{64}$)/.exec(pk)![1] ?? 'hash'}`),
      ...CLIENTS.flatMap((item) => ['overrides', 'disabled', 'expiresAt'].filter((field) => field in item)),
    ]
    expect([...new Set(kinds)].sort()).toEqual(
      [
        ...['tier', 'route', 'global', 'settings', 'scopedSettings', 'modeSwitch', 'api', 'access'],
        ...['block range', 'block client', 'allow address', 'allow client'],
        ...[
          'client by hash',
          'client by api-gateway-key',
          'client by client-certificate',
          'client by user',
          'client by client',
        ],
        ...['overrides', 'disabled', 'expiresAt'],
      ].sort(),
    )
  })

  it('has an example of every field of a policy, and of every algorithm', () => {
    const policies = POLICY_SET.flatMap(({ policies = [] }) => policies as Readonly<Record<string, unknown>>[])
    expect(new Set(policies.flatMap((policy) => Object.keys(policy)))).toEqual(
      new Set([...Object.keys(POLICY_FIELDS), ...Object.keys(POLICY_EXTRAS)]),
    )
    expect(new Set(policies.flatMap(({ algorithm = [] }) => algorithm))).toEqual(
      new Set([...ALGORITHM_NAMES, CONCURRENCY]),
    )
    expect(policies.some(({ overage }) => overage === 'allow')).toBe(true)
  })

  it('explains every field', () => {
    const rules = {
      ...POLICY_FIELDS,
      ...POLICY_EXTRAS,
      ...TIER_FIELDS,
      ...ROUTE_FIELDS,
      ...GLOBAL_FIELDS,
      ...SETTINGS_FIELDS,
    }
    const written = [...Object.keys(rules), ...ITEMS.flatMap((item) => Object.keys(item))]
    expect([...new Set(written)].filter((field) => !['pk', 'sk'].includes(field) && !explains(PAGE, field))).toEqual([])
  })

  it('has examples that make one table without a contradiction, in which the client has its own numbers', async () => {
    const log = new FakeLog()
    const { policies } = await configuration(POLICY_SET, log)
    const bolt = CLIENTS.map(parsedClient).find(({ id }) => id === 'bolt')!
    const plan = new Plans(log.write).planFor(
      { policies } as never,
      policies.tiers.get(bolt.tier),
      rulesOf(policies, 'GET', '/'),
      bolt,
    )
    const limits = plan.groups.flatMap((group) => group.policies.map(({ name, limit }) => [name, limit]))
    expect(Object.fromEntries(limits)).toMatchObject({ 'per-second': 100, 'per-month': 5_000_000 })
    expect(log.entries).toEqual([])
  })

  it('quotes the line of a mistake as it is logged', async () => {
    const [line] = BLOCKS.filter((block) => 'level' in block)
    const wrong = { pk: 'policy-set', sk: 'tier#free', policies: [{ name: 'per-minute', limit: '60', window: '1m' }] }
    const log = new FakeLog()
    await configuration([wrong, ...POLICY_SET.filter(({ sk }) => sk !== wrong.sk && sk !== 'settings')], log)
    const [{ level, event, details }] = log.entries as [FakeLog['entries'][0]]
    expect({
      level,
      event,
      message: EVENTS[event],
      ...details,
      issues: log.mistakes.map((one) => ({ ...one })),
    }).toEqual(line)
    expect(log.metrics).toEqual(['ConfigErrors'])
  })
})
