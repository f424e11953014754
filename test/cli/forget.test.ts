import { CreateTableCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import { knownNames } from '../../cli/callers/known-names'
import { LOCAL_TABLES } from '../../cli/tables/local-engine'
import { keyRingItem } from '../../lambda/config-table/items/key-ring'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { type SubjectInputs, subjectOf } from '../../lambda/subjects'
import { subjectKey } from '../../limiter/subject-key'
import { type Deployment, deploy, TIERS } from './command-line'

const SECRET = Buffer.alloc(32, 7)
const OTHER = Buffer.alloc(32, 9)
const policy = (name: string, by: string | string[]) => ({ name, limit: 5, window: '1h', by })

describe('the subjects under which a caller is counted', () => {
  const set = parseTiersFile(
    {
      settings: { trustedHeaders: ['x-tenant'] },
      tiers: {
        anonymous: { policies: [policy('a', 'ip')] },
        pro: { policies: [policy('b', ['client', 'ip']), policy('c', ['user', 'header:x-tenant', 'ip'])] },
      },
      global: { policies: [policy('all', 'global')] },
    },
    'tiers',
  )

  it('are all combinations that the policies make of the given names, as the authorizer makes them', () => {
    const given = ['client:acme', 'user:42', 'ip:1.2.3.4', 'header:x-tenant=north']
    const { names, unknown } = knownNames(given, set)
    const headers = [new Map<string, string>(), new Map([['x-tenant', 'north']])]
    const callers = ['client:acme', 'user:42', 'ip:1.2.3.4']
    for (const { by } of [...set.global, ...[...set.tiers.values()].flatMap(({ policies }) => policies)]) {
      if (by.who.includes('global')) continue
      for (const caller of callers)
        for (const user of callers)
          for (const header of headers) {
            const asking: SubjectInputs = {
              caller,
              user,
              address: 'ip:1.2.3.4',
              headers: header,
              claims: {},
              namespace: '',
            }
            expect(names).toContain(subjectOf(by.who, asking))
          }
    }
    expect(names).toContain('preflight:ip:1.2.3.4')
    expect(names).not.toContain('global')
    expect(unknown).toEqual([])
  })

  it('that cannot be computed are reported by their dimensions', () => {
    expect(knownNames(['client:acme'], set).unknown).toEqual(['header:x-tenant', 'ip', 'user'])
    expect(knownNames(['ip:1.2.3.4'], set).unknown).toEqual(['client', 'header:x-tenant', 'user'])
  })

  it('include those by API, and never a counter that all callers share', () => {
    const perApi = parseTiersFile(
      { tiers: { anonymous: { policies: [policy('a', ['api', 'client']), policy('b', 'api')] } } },
      'tiers',
    )
    expect(knownNames(['client:acme'], perApi)).toEqual({ names: ['client:acme'], unknown: ['api'] })
    expect(knownNames(['client:acme', 'api:a1'], perApi)).toEqual({
      names: ['client:acme', 'several:["api:a1","client:acme"]'],
      unknown: [],
    })
  })

  it('are limited in number', () => {
    const many = Array.from({ length: 200 }, (_, i) => [`client:${i}`, `ip:10.0.0.${i}`]).flat()
    expect(() => knownNames(many, set)).toThrow('more than 10000 combinations')
  })
})

describe('sluice forget', () => {
  let at: Deployment
  beforeEach(async () => {
    at = await deploy()
    await at.put(
      ...TIERS,
      { pk: 'policy-set', sk: 'route#GET /x', policies: [policy('both', ['client', 'ip'])] },
      { pk: 'policy-set', sk: 'block#client#acme' },
      { pk: 'policy-set', sk: 'allow#ip#1.2.3.4' },
      { pk: 'policy-set', sk: 'block#ip#1.2.3.4/32' },
      { pk: 'policy-set', sk: 'block#ip#1.2.3.0/24' },
      { pk: 'policy-set', sk: 'block#client#other' },
      { pk: 'last-valid', sk: 'block#client#acme', hash: 'x', item: { sk: 'block#client#acme' } },
      { pk: `client#${'a'.repeat(64)}`, sk: 'client', id: 'acme', tier: 'free' },
      { pk: 'client#user:42', sk: 'client', id: 'acme', tier: 'free' },
      { pk: `client#${'b'.repeat(64)}`, sk: 'client', id: 'other', tier: 'free' },
      keyRingItem(HMAC_RING, [
        { secret: SECRET, activeFrom: 0 },
        { secret: OTHER, activeFrom: Date.now() + 1e9 },
      ]),
    )
    for (const subject of [...HIS, ...OTHERS])
      for (const secret of [undefined, SECRET, OTHER])
        await at.client.send(
          new PutItemCommand({
            TableName: LOCAL_TABLES.state,
            Item: { pk: { S: subjectKey(subject, secret) }, exp: { N: '1' } },
          }),
        )
  })
  afterEach(async () => at?.close())

  const HIS = ['client:acme', 'user:42', 'ip:1.2.3.4', 'preflight:ip:1.2.3.4', 'several:["client:acme","ip:1.2.3.4"]']
  const OTHERS = ['client:other', 'ip:1.2.3.5', 'global', 'several:["client:other","ip:1.2.3.5"]']

  const keysOf = async (table: 'state' | 'config') =>
    ((await at.client.send(new ScanCommand({ TableName: LOCAL_TABLES[table] }))).Items ?? [])
      .map(({ pk, sk }) => [pk?.S, sk?.S].filter(Boolean).join(' '))
      .filter((key) => !key.startsWith('audit ')) // that something was erased, and not what
      .sort()

  it('erases everything about a caller under every secret, and nothing about others', async () => {
    const { erased, failed, left } = await at.json(['forget', 'acme', 'ip:1.2.3.4', '--yes'])
    expect(await keysOf('state')).toEqual(
      OTHERS.flatMap((name) => [undefined, SECRET, OTHER].map((secret) => subjectKey(name, secret))).sort(),
    )
    expect(await keysOf('config')).toEqual(
      [
        `client#${'b'.repeat(64)} client`,
        'hmac-key hmac-key',
        'policy-set block#client#other',
        'policy-set block#ip#1.2.3.0/24',
        'policy-set route#GET /x',
        ...TIERS.map(({ pk, sk }) => `${pk} ${sk}`),
      ].sort(),
    )
    expect(erased).toEqual(
      [
        'client acme, by key aaaaaaaaaaaa',
        'client acme, by user:42',
        'ip:1.2.3.4 on the allow list',
        'client:acme on the block list',
        'the copy of client:acme on the block list',
        'ip:1.2.3.4/32 on the block list',
        ...HIS.map((name) => `counters of ${name}`),
      ].sort((a, b) => erased.indexOf(a) - erased.indexOf(b)),
    )
    expect(failed).toEqual([])
    expect(left).toEqual(['ip:1.2.3.0/24 on the block list, which holds other addresses as well: sluice block remove'])
  })

  it('can be repeated', async () => {
    await at.json(['forget', 'acme', 'user:42', 'ip:1.2.3.4', '--yes'])
    expect(await at.sluice(['forget', 'acme', 'user:42', 'ip:1.2.3.4', '--yes'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^nothing is stored\n/),
      err: expect.stringContaining('the authorizer’s log'),
    })
  })

  it('of an id that no record has names the one that looks like it, and writes nothing', async () => {
    const ids = (await at.json(['clients', 'list'])).map(({ id }: { id: string }) => id)
    const { out, err } = await at.sluice(['forget', `${ids[0]}x`, '--yes'])
    expect(out).toMatch(/^nothing is stored\n/)
    expect(err).toContain(`no client record has the id "${ids[0]}x": did you mean "${ids[0]}"?\n`)
    expect(err).not.toContain('written:')
  })

  it('shows what it will erase, and asks first', async () => {
    const before = [await keysOf('state'), await keysOf('config')]
    expect((await at.sluice(['forget', 'acme', '--dry-run'])).out).toContain(
      'would erase: client acme, by key aaaaaaaaaaaa\n',
    )
    expect((await at.sluice(['forget', 'acme'])).code).toBe(1)
    expect(await at.sluice(['forget', 'acme'], { typed: 'n\n' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('client acme, by user:42'),
    })
    for (const nobody of ['global', 'route:GET /x', 'ip:here'])
      expect((await at.sluice(['forget', nobody, '--yes'])).code).toBe(1)
    expect([await keysOf('state'), await keysOf('config')]).toEqual(before)
  })

  it('erases subjects of a program with --raw', async () => {
    await at.client.send(
      new PutItemCommand({
        TableName: LOCAL_TABLES.state,
        Item: { pk: { S: subjectKey('order:1234', SECRET) }, exp: { N: '1' } },
      }),
    )
    expect((await at.json(['forget', 'order:1234', '--raw', '--yes'])).erased).toEqual(['counters of order:1234'])
  })

  it('erases what it can and ends with exit code 2 if something could not be erased', async () => {
    await at.client.send(
      new CreateTableCommand({
        TableName: 'elsewhere',
        KeySchema: [{ AttributeName: 'other', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'other', AttributeType: 'S' }],
        BillingMode: 'PAY_PER_REQUEST',
      }),
    )
    const said = await at.sluice(['forget', 'acme', '--yes', '--state-table', 'elsewhere'])
    expect(said).toMatchObject({
      code: 2,
      err: expect.stringContaining('some items could not be erased, run it again: counters of client:acme'),
    })
    expect(said.out).toContain('erased: client acme, by key aaaaaaaaaaaa\n')
  })
})
