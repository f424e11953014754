import { APIGatewayClient } from '@aws-sdk/client-api-gateway'
import { ApiGatewayV2Client } from '@aws-sdk/client-apigatewayv2'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { mockClient } from 'aws-sdk-client-mock'
import { runs } from '../runs'
import { FakeAws } from './fake-aws'
import { failure } from './fake-service'

const CLIENTS = [APIGatewayClient, ApiGatewayV2Client, LambdaClient, CloudFormationClient, DynamoDBDocumentClient]

afterEach(() => jest.restoreAllMocks())

/** The calls of one run, each by its name. */
async function callsOf(args: readonly string[], prepare: (aws: FakeAws) => Promise<unknown>): Promise<string[]> {
  const aws = new FakeAws()
  await prepare(aws)
  aws.calls = []
  await aws.sluice(args)
  return [...new Set(aws.calls)]
}

/** Runs a command while one call always fails; what was printed, and the account before and after. */
async function failing(
  args: readonly string[],
  prepare: (aws: FakeAws) => Promise<unknown>,
  call: string,
  error: () => Error,
) {
  const aws = new FakeAws()
  await prepare(aws)
  const before = aws.dump()
  const mocks = CLIENTS.map((client) => {
    const answer = client.prototype.send as (command: object) => Promise<never>
    const mock = mockClient(client as typeof LambdaClient)
    mock.send.callsFake(async (command) => {
      if (command.constructor.name === `${call}Command`) throw error()
      return answer(command)
    })
    return mock
  })
  const said = await aws.sluice(args)
  for (const mock of mocks) mock.restore()
  return { aws, said, before }
}

const refused = () => Object.assign(new Error('connect ECONNREFUSED 192.0.2.1:443'), { code: 'ECONNREFUSED' })
const broken = () => failure('InternalServerErrorException', 500, 'try again later')
const denied = () => failure('AccessDeniedException', 403, 'User is not authorized to perform this')

describe.each(['restapi001', 'httpapi001'].slice(0, runs(1, 2)))('API %s', (id) => {
  const nothing = async () => undefined
  const attached = (aws: FakeAws) => aws.sluice(['attach', id, '--as', 'shop', '--yes'])
  const RUNS = [
    ['attach', ['attach', id, '--as', 'shop', '--yes'], nothing],
    ['status', ['status', id], attached],
    ['detach', ['detach', id, '--yes'], attached],
  ] as const

  describe.each(RUNS)('sluice %s', (verb, args, prepare) => {
    it('names the IAM action that is missing, for whichever call lacks its right, and prints no stack', async () => {
      const calls = await callsOf(args, prepare)
      expect(calls.length).toBeGreaterThan(3)
      for (const call of calls) {
        const { said } = await failing(args, prepare, call, denied)
        expect([call, said.code]).toEqual([call, expect.any(Number)])
        if (said.code !== 0) {
          expect([call, said.err]).toEqual([
            call,
            expect.stringMatching(
              /missing rights?: (apigateway|lambda|dynamodb|cloudformation):\w+ on \S|AWS refuses these credentials/,
            ),
          ])
        }
        expect([call, said.err]).toEqual([call, expect.not.stringContaining('    at ')])
      }
    })

    it.each([
      ['the network fails', refused, 'the service failed: connect ECONNREFUSED'],
      ['AWS has an internal error', broken, 'the service failed: try again later'],
    ] as const)('ends with exit code 2 and one sentence when %s at any call', async (_, error, sentence) => {
      for (const call of await callsOf(args, prepare)) {
        const { said } = await failing(args, prepare, call, error)
        if (said.code !== 0) {
          expect([call, said.code]).toEqual([call, 2])
          expect([call, said.err]).toEqual([call, expect.stringContaining(sentence)])
        }
        expect([call, said.err]).toEqual([call, expect.not.stringContaining('    at ')])
      }
    })

    if (verb === 'attach') {
      it('leaves nothing behind that detach does not restore, whichever call fails', async () => {
        for (const call of await callsOf(args, prepare)) {
          const { aws, before } = await failing(args, prepare, call, broken)
          await aws.sluice(['detach', id, '--yes'])
          expect([call, aws.dump()]).toEqual([call, before])
          expect([call, aws.kept()]).toEqual([call, []])
        }
      })
    }
  })
})
