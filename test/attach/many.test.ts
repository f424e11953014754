import { Interrupts } from '../../cli/terminal/io'
import { FakeAws } from './fake-aws'
import { WEB_SOCKET_API } from './fake-http'
import { failure } from './fake-service'

let aws: FakeAws
beforeEach(() => {
  jest.restoreAllMocks()
  aws = new FakeAws()
  aws.rest.listed = [
    { id: 'restapi009', name: 'other team', tags: { team: 'toys' } },
    { id: 'restapi001', name: 'zoo', tags: { team: 'shop', stage: 'live' } },
    { id: 'restapi003', name: 'gone', tags: { team: 'shop' } },
  ]
  aws.http.listed = [
    { ApiId: WEB_SOCKET_API.id, Name: 'chat', ProtocolType: 'WEBSOCKET', Tags: { team: 'chat' } },
    { ApiId: 'httpapi002', Name: 'untagged', ProtocolType: 'HTTP' },
    { ApiId: 'httpapi001', Name: 'pets', ProtocolType: 'HTTP', Tags: { team: 'shop' } },
  ]
})
afterAll(() => jest.restoreAllMocks())

const SHOP = ['attach', '--tag', 'team=shop', '--except', 'restapi003']
const attach = (...more: string[]) => aws.sluice([...SHOP, ...more])
const meets = () => [aws.meets('rest', 'prod', 'GET /pets'), aws.meets('http', 'prod', 'GET /pets')]
const WRITES = /^(Create|Update|Put|Delete|Add|Remove|TransactWrite)/

it('plans for all APIs with a tag, asks once, and attaches them', async () => {
  const { code, out } = await attach('--headers', '--yes')
  expect([code, meets()]).toEqual([0, ['Sluice', 'Sluice']])
  expect(out).toMatch(/^restapi001 "zoo": attached\nhttpapi001 "pets": attached$/m)
  expect(out).not.toContain('restapi009')
})

it('attaches APIs of every kind, to each what it can have', async () => {
  const { code, out } = await aws.sluice(['attach', '--tag', 'team=chat', '--headers', '--yes'])
  expect([code, out]).toEqual([0, expect.stringContaining(`${WEB_SOCKET_API.id} "chat": attached`)])
  expect(aws.meets('webSocket', 'prod', '$connect')).toBe('Sluice')
})

it('asks one question for all of them, and does nothing without a yes', async () => {
  const before = aws.dump()
  const said = await aws.sluice(SHOP, { typed: 'n\n' })
  expect([said.code, said.err.match(/\[y\/N\]/g)]).toEqual([1, ['[y/N]']])
  expect(said.err).toContain('Attach Sluice to 2 APIs: restapi001, httpapi001? [y/N]')
  await attach('--dry-run')
  expect([aws.dump(), aws.calls.filter((name) => WRITES.test(name))]).toEqual([before, []])
})

it('skips what is attached already', async () => {
  await aws.sluice(['attach', 'restapi001', '--yes'])
  const { out } = await attach('--yes')
  expect(out).toMatch(/^restapi001 "zoo": already attached\nhttpapi001 "pets": attached$/m)
  aws.calls = []
  expect((await attach()).out).toMatch(/^restapi001 "zoo": already attached\nhttpapi001 "pets": already attached$/m)
  expect(aws.calls.filter((name) => WRITES.test(name))).toEqual([])
})

it('goes on after an API that cannot be attached, tells it, and ends with an error', async () => {
  const { code, out, err } = await aws.sluice(['attach', '--tag', 'team=shop', '--yes'])
  expect([code, meets()]).toEqual([1, ['Sluice', 'Sluice']])
  expect(out).toContain('restapi003 "gone": failed')
  expect(err).toContain('1 of 3 APIs are not attached\nrestapi003 "gone": there is no API restapi003 in us-east-1')
})

it('restores an API whose attach fails, and attaches the others', async () => {
  aws.hooks.before = (name) => {
    if (name === 'UpdateMethod') throw failure('BadRequestException', 400, 'no')
  }
  const rest = JSON.stringify(aws.rest.dump())
  const { code, err } = await attach('--yes')
  expect([meets(), JSON.stringify(aws.rest.dump()), code > 0]).toEqual([['the backend', 'Sluice'], rest, true])
  expect(err).toContain('1 of 2 APIs are not attached\nrestapi001 "zoo": ')
})

it('leaves an API alone that somebody changed after the plan was shown', async () => {
  const said = await aws.sluice(SHOP, {
    typed: 'y\n',
    onErr: (text) => {
      if (text.includes('[y/N]')) aws.rest.method('GET /pets').authorizationType = 'AWS_IAM'
    },
  })
  expect([said.code, meets()[1]]).toEqual([1, 'Sluice'])
  expect(said.err).toContain('restapi001 "zoo": it was changed after the plan was shown, so nothing was done')
})

it('stops at Ctrl-C, and says which APIs were not begun', async () => {
  const interrupts = new Interrupts()
  const before = JSON.stringify(aws.http.dump())
  aws.hooks.after = (name) => {
    if (name === 'CreateAuthorizer') interrupts.press()
  }
  const { code, err } = await aws.sluice([...SHOP, '--yes'], { interrupts })
  expect([code, meets()[0], JSON.stringify(aws.http.dump())]).toEqual([130, 'the backend', before])
  expect(err).toContain('2 of 2 APIs are not attached\nrestapi001 "zoo": ')
  expect(err).toContain('httpapi001 "pets": not begun')
})

it('says in JSON what became of each API', async () => {
  const { code, out } = await aws.sluice([
    'attach',
    '--all',
    '--except',
    'httpapi002',
    '--except',
    WEB_SOCKET_API.id,
    '--json',
    '--yes',
  ])
  const apis = JSON.parse(out) as { apiId: string; outcome: string; steps?: string[] }[]
  expect([code, apis.map(({ apiId, outcome }) => [apiId, outcome])]).toEqual([
    1,
    [
      ['restapi009', 'failed'],
      ['restapi001', 'attached'],
      ['restapi003', 'failed'],
      ['httpapi001', 'attached'],
    ],
  ])
  expect(apis[1]!.steps).toContain('create the authorizer')
})

it.each([
  [['attach'], 'give the id of an API, or --all or --tag for several, and not both\n'],
  [['attach', 'restapi001', '--all'], 'give the id of an API, or --all or --tag for several, and not both\n'],
  [['attach', '--tag', '=x'], '--tag must be a key and a value such as "team=shop", got "=x"\n'],
  [['attach', '--tag', 'team=nobody'], 'no API of this Region has the tag team=nobody\n'],
  [['attach', '--all', '--as', 'shop'], '--as is for one API: it does not go with --all or --tag\n'],
  [['attach', '--all', '--except', 'x'], '--except names x, but this Region has no such API\n'],
  [['attach', 'restapi001', '--except', 'x'], '--except goes with --all or --tag\n'],
])('%j is rejected', async (args, err) => expect(await aws.sluice(args)).toEqual({ code: 1, out: '', err }))
