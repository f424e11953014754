import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { mockClient } from 'aws-sdk-client-mock'
import { subjectKey } from '../../../limiter/subject-key'
import { LIMITER_OUTPUT } from '../../../provisioning/limiter-output'
import { sluice } from '../command-line'
import { fakeLogs } from './fake-logs'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const HASH = subjectKey('client:acme')

describe('the log of a limiter', () => {
  const [cloudFormation, lambda, dynamodb] = [
    mockClient(CloudFormationClient),
    mockClient(LambdaClient),
    mockClient(DynamoDBDocumentClient),
  ]
  const arn = 'arn:aws:lambda:eu-west-1:123456789012:function:limit'
  const output = { limiter: 'Limiter', configTable: 'c', stateTable: 's', function: arn }
  beforeEach(() => {
    cloudFormation.on(DescribeStacksCommand).resolves({
      Stacks: [
        {
          StackName: 'Shop',
          CreationTime: new Date(0),
          StackStatus: 'CREATE_COMPLETE',
          Outputs: [{ OutputKey: `${LIMITER_OUTPUT}Limiter`, OutputValue: JSON.stringify(output) }],
        },
      ],
    })
    dynamodb.rejects(Object.assign(new Error('not you'), { name: 'AccessDeniedException' }))
  })
  afterAll(() => {
    for (const mock of [cloudFormation, lambda, dynamodb]) mock.restore()
  })

  it.each([
    ['named by its function', { LoggingConfig: { LogGroup: 'group' } }, 'group'],
    ['the one that Lambda makes', { FunctionName: 'limit' }, '/aws/lambda/limit'],
  ])('is %s; without the right to read the tables callers stay hashes', async (_, configuration, name) => {
    lambda.on(GetFunctionConfigurationCommand, { FunctionName: arn }).resolves(configuration)
    const logs = await fakeLogs(() => NOW)
    const text = JSON.stringify({ event: 'request_denied', subject: HASH })
    logs.lines.push({ id: '1', at: NOW - 1, readableAt: 0, text })
    const aws = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }
    const before = { ...process.env }
    Object.assign(process.env, aws)
    const env = { ...aws, AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: logs.url }
    const { out, err } = await sluice(['top', '--stack', 'Shop', '--once'], { env, now: NOW })
    process.env = before
    await logs.close()
    expect(logs.asked.map(({ body }) => body.logGroupName)).toEqual([name])
    if (name !== 'group') return
    expect(out).toContain(HASH)
    expect(err).toBe('clients are not named: AWS rejects these credentials: not you\n')
  })
})
