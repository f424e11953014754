import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What CloudFormation hears from a custom resource's function. */
interface CustomResourceAnswer {
  readonly method: string | undefined
  readonly type: string | undefined
  readonly Status: string
  readonly Reason: string
  readonly PhysicalResourceId: string
  readonly Data?: Readonly<Record<string, string>>
}

/**
 * Runs a custom resource's function as Lambda would, within a `describe`: CloudFormation's side of the answer, the
 * environment, and a silent console.
 *
 * @param endpoint of DynamoDB, asked when the tests begin.
 */
export function customResource(endpoint: () => string) {
  const answers: CustomResourceAnswer[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    answers.push({ method: request.method, type: request.headers['content-type'], ...JSON.parse(body) })
    response.end()
  })
  const silent = [jest.spyOn(console, 'info'), jest.spyOn(console, 'error')]
  const before = { ...process.env }

  beforeAll(async () => {
    for (const spy of silent) spy.mockImplementation(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    Object.assign(process.env, {
      AWS_ENDPOINT_URL: endpoint(),
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'a',
    })
  })
  afterAll(() => {
    server.close()
    process.env = before
    for (const spy of silent) spy.mockRestore()
  })

  return {
    answers,
    /** What the function has logged. */
    logged: () => JSON.stringify(silent.map((spy) => spy.mock.calls)),
    responseUrl: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  }
}
