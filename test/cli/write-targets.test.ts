import { Connection } from '../../cli/tables/connection'
import { createLimiter, DynamoDbStore } from '../../limiter'
import { type Deployment, deploy, TIERS } from './command-line'

const POLICY = { name: 'a', limit: 5, window: '1h' } as const

const NOW = Date.parse('2026-11-21T12:00:00Z')

let at: Deployment
beforeAll(async () => {
  at = await deploy()
  await at.put(...TIERS, { pk: 'policy-set', sk: 'settings', defaultTier: 'free' })
})
afterAll(async () => at?.close())

const CONFIG = 'table sluice-config'
const STATE = 'table sluice-state'

/** Every command that writes, in an order in which each has something to write. */
const WRITES: readonly (readonly [command: string, tables: string])[] = [
  ['tiers apply tiers.yaml --yes --prune', CONFIG],
  ['clients create acme --tier free', CONFIG],
  ['clients create acme --another-key --json', CONFIG],
  ['clients set acme --name Acme', CONFIG],
  ['clients create one --tier free', CONFIG],
  ['clients rotate-key one', CONFIG],
  ['clients disable acme', CONFIG],
  ['apis label a1b2c3d4e5 shop', CONFIG],
  ['apis remove a1b2c3d4e5 --yes', CONFIG],
  ['block add acme', CONFIG],
  ['block remove acme --yes', CONFIG],
  ['off --yes', CONFIG],
  ['on', CONFIG],
  ['observe on --yes', CONFIG],
  ['observe off', CONFIG],
  ['forget one --yes', CONFIG],
  ['clients delete acme --yes', CONFIG],
  ['hmac-key enable --at 11m --yes', CONFIG],
]

describe('every write', () => {
  it.each(WRITES)('by %s says to which tables', async (command, tables) => {
    const { code, err } = await at.sluice(command.split(' '))
    expect([code, err]).toEqual([0, expect.stringContaining(`written: ${tables} at ${at.endpoint}\n`)])
  })

  it('to counters does so, too', async () => {
    await at.json(['clients', 'create', 'refunded', '--tier', 'free'])
    const { err } = await at.sluice(['forget', 'refunded', '--yes'])
    expect(err).toContain(`written: ${CONFIG} at ${at.endpoint}\n`)
    const raw = () => at.sluice(['forget', 'order:1', '--raw', '--yes'])
    await createLimiter({
      store: new DynamoDbStore({ client: at.client, tableName: 'sluice-state' }),
      policies: [POLICY],
    }).take('order:1')
    expect((await raw()).err).toContain(`written: ${STATE} at ${at.endpoint}\n`)
    expect((await raw()).err).not.toContain('written:')
  })

  it.each([['tiers list'], ['usage ip:1.2.3.4'], ['block list'], ['doctor'], ['on'], ['refund ip:1.2.3.4 1']])(
    '%s writes nothing, and says nothing of it',
    async (command) => {
      expect((await at.sluice(command.split(' '), { now: NOW })).err).not.toContain('written:')
    },
  )

  it('that is refused is not told as written', async () => {
    const { code, err } = await at.sluice(['clients', 'create', 'acme', '--tier', 'nosuch'])
    expect([code, err]).toEqual([1, expect.not.stringContaining('written:')])
  })

  it.each([
    [['off'], 'Turn all limits off\\?'],
    [['observe', 'on'], 'Make all limits observe only\\?'],
    [['block', 'remove', '203.0.113.1'], 'Unblock ip:203.0.113.1\\?'],
    [
      ['block', 'add', '203.0.113.2', '--allow', '--expires', '2999-01-01T00:00:00Z'],
      'Allow ip:203.0.113.2 without counting until 2999-01-01T00:00:00Z\\?',
    ],
    [['apis', 'remove', 'k1k1k1k1k1'], 'Remove the label of API k1k1k1k1k1\\?'],
    [['clients', 'delete', 'dropped'], 'Delete client "dropped"'],
    [['tiers', 'apply', 'tiers.yaml'], 'Apply this\\?'],
  ])('that takes a limit or a block away asks, and without a terminal needs --yes: %j', async (args, question) => {
    await at.sluice(['block', 'add', '203.0.113.1'])
    await at.sluice(['apis', 'label', 'k1k1k1k1k1', 'asked'])
    await at.sluice(['clients', 'create', 'dropped', '--tier', 'free'])
    await at.put({ ...TIERS[0], policies: [] })
    const alone = await at.sluice(args)
    expect(alone).toMatchObject({ code: 1, err: expect.stringContaining('no terminal for the question, use --yes\n') })
    const no = await at.sluice(args, { typed: 'n\n' })
    expect(no).toMatchObject({
      code: 1,
      err: expect.stringMatching(new RegExp(`${question}.*\\[y/N\\] nothing was written\n$`)),
    })
    for (const answered of [{ args, typed: 'y\n' }, { args: [...args, '--yes'] }]) {
      const done = await at.sluice(answered.args, { typed: answered.typed })
      expect([done.code, done.err]).toEqual([0, expect.stringContaining('written: table sluice-config')])
      await at.sluice(['on'])
      await at.sluice(['block', 'add', '203.0.113.1'])
      await at.sluice(['block', 'remove', '203.0.113.2', '--allow'])
      await at.sluice(['apis', 'label', 'k1k1k1k1k1', 'asked'])
      await at.sluice(['clients', 'create', 'dropped', '--tier', 'free'])
      await at.put({ ...TIERS[0], policies: [] })
    }
  })

  it('asks with the name of the table and where it is', async () => {
    await at.json(['clients', 'create', 'gone', '--tier', 'free'])
    for (const [args, tables] of [
      [['clients', 'delete', 'gone'], 'table sluice-config'],
      [['forget', 'gone'], 'tables sluice-config and sluice-state'],
    ] as const) {
      const { err } = await at.sluice(args, { typed: 'n\n' })
      expect(err).toMatch(new RegExp(`^${tables} at ${at.endpoint}: .*\\[y/N\\] nothing was written\n$`))
    }
  })

  it('in AWS names the Region', async () => {
    const connection = new Connection({ table: 'live', region: 'eu-central-1' }, {})
    expect(await connection.describe('config')).toBe('table live in eu-central-1')
    connection.close()
  })
})
