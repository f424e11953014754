import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CloudFormationClient, DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation'
import { type MiniStack, startMiniStack } from '../engines/ministack'
import type { Renamed } from '../engines/renamed-app'

const ROOT = join(__dirname, '..', '..')

describe('a limiter whose construct is renamed, on an AWS endpoint', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-renamed-'))
  let aws: MiniStack
  let cloudFormation: CloudFormationClient
  beforeAll(async () => {
    aws = await startMiniStack()
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    cloudFormation = new CloudFormationClient({ endpoint: aws.env.AWS_ENDPOINT_URL!, region: 'us-east-1', credentials })
  }, 120_000)
  afterAll(async () => {
    cloudFormation?.destroy()
    await aws?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const deploy = async (renamed: Renamed) => {
    process.env.RENAMED = JSON.stringify(renamed)
    const app = `${process.execPath} --import tsx ${join(ROOT, 'test', 'engines', 'renamed-app.ts')}`
    await aws.cdk(ROOT, 'deploy', '--require-approval', 'never', '--app', app, '--output', join(folder, 'cdk.out'))
  }
  const configTables = async () => {
    const { StackResources = [] } = await cloudFormation.send(
      new DescribeStackResourcesCommand({ StackName: 'Renamed' }),
    )
    return StackResources.filter(({ LogicalResourceId: id = '' }) => /TablesConfig/.test(id)).map(
      ({ LogicalResourceId: id, PhysicalResourceId: name }) => ({ id, name }),
    )
  }

  it('is refused and rolled back, and deployed by each of the ways that the error names', async () => {
    await deploy({ construct: 'Limiter' })
    const [old] = await configTables()
    const refused = await deploy({ construct: 'RateLimiter' }).catch(({ message }: Error) => message)
    const [, newId, oldId] = /renameLogicalId\('(\w+)', '(\w+)'\)/.exec(String(refused)) ?? []
    expect(refused).toContain(`leave ${old!.name} behind, with every client in it`)
    expect(oldId).toBe(old!.id)
    expect(await configTables()).toEqual([old])

    await deploy({ construct: 'RateLimiter', keep: [newId!, oldId!] })
    expect(await configTables()).toEqual([old])

    await deploy({ construct: 'Third', configTable: old!.name! })
    expect(await configTables()).toEqual([])

    const exchanged = { construct: 'Third', props: { configTableName: 'another' } } as const
    await expect(deploy(exchanged)).rejects.toThrow(`leave ${old!.name} behind`)
    await deploy({ ...exchanged, props: { ...exchanged.props, configTableLoss: 'accept' } })
    expect(await configTables()).toEqual([expect.objectContaining({ name: 'another' })])
  }, 400_000)
})
