import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InvokeCommand, type LambdaClient, ListFunctionsCommand } from '@aws-sdk/client-lambda'

/**
 * Asks the guard of the only limiter of an account whether the limiter may be deleted, as CloudFormation would.
 *
 * MiniStack deletes the rest of a stack when a custom resource refuses, so the guard's function is asked directly.
 *
 * @param more properties of the guard's resource.
 */
export async function askGuard(
  lambda: LambdaClient,
  authorizerArn: string,
  more: object = {},
): Promise<{ readonly Status: string; readonly Reason: string }> {
  let answer = ''
  const server = createServer(async (request, response) => {
    for await (const chunk of request) answer += chunk
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { Functions: all = [] } = await lambda.send(new ListFunctionsCommand({}))
  const { FunctionName } = all.find(({ Description }) => Description?.includes('guards what is in use'))!
  const event = {
    RequestType: 'Delete',
    ResponseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ResourceProperties: { Guard: { FunctionArn: authorizerArn, Refuse: 'true', ...more } },
  }
  await lambda.send(new InvokeCommand({ FunctionName, Payload: Buffer.from(JSON.stringify(event)) }))
  server.close()
  return JSON.parse(answer)
}
