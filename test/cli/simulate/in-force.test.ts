import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { subjectKey } from '../../../limiter/subject-key'
import { type Deployment, deploy, TIERS } from '../command-line'

let deployment: Deployment
beforeAll(async () => {
  deployment = await deploy()
  await deployment.put(
    ...TIERS,
    { pk: 'policy-set', sk: 'block#client#bad' },
    {
      pk: 'client#api-gateway-key:a1b2c3d4e5',
      sk: 'client',
      id: 'acme',
      tier: 'free',
      overrides: { 'per-minute': { limit: 70 } },
    },
    { pk: 'client#api-gateway-key:b1b2c3d4e5', sk: 'client', id: 'bad', tier: 'free' },
  )
})
afterAll(() => deployment.close())

it('compares with what is in force, with clients, their own limits and blocks as the table has them', async () => {
  const T = 1_800_000_000_000
  const [log, tiers] = ['log', 'yaml'].map((end) => join(tmpdir(), `in-force-${process.pid}.${end}`)) as [
    string,
    string,
  ]
  const lines = Array.from({ length: 72 }, (_, i) => ({
    time: T + i,
    subject: subjectKey('client:acme'),
    tier: 'free',
  }))
  const others = [
    { time: T + 100, key: 'b1b2c3d4e5' },
    { time: T + 101, key: 'unknown-key', ip: '198.51.100.1' },
  ]
  writeFileSync(log, [...lines, ...others].map((one) => JSON.stringify(one)).join('\n'))
  writeFileSync(
    tiers,
    `tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 20, window: 1m }] }
  free: { policies: [{ name: per-minute, limit: 60, window: 1m }, { name: per-hour, limit: 65, window: 1h }] }
`,
  )
  const report = await deployment.json(['simulate', '--log', log, '--tiers', tiers, '--against', 'current'])
  expect(report).toMatchObject({
    denied: 7,
    undecided: { blocked: 1 },
    against: { denied: 2, undecided: { blocked: 1 }, rules: 'current' },
    newlyDeniedClients: 0,
    newlyDeniedRequests: 5,
    clients: expect.arrayContaining([
      expect.objectContaining({ client: 'client:acme', denied: 7, firstDeniedBy: 'per-hour' }),
      expect.objectContaining({ client: 'client:bad', refused: 1 }),
      expect.objectContaining({ client: 'ip:198.51.100.1', tier: 'anonymous' }),
    ]),
  })
})
