import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sluice } from './command-line'

/** Answers of what is no DynamoDB: web servers, gateways, proxies. */
const OTHERS: [string, number, string, string][] = [
  ['a page', 200, 'text/html', '<!doctype html><title>Welcome</title>'],
  ['an empty object', 200, 'application/json', '{}'],
  ['an answer without a body', 200, 'text/plain', ''],
  ['a gateway that knows no such path', 403, 'application/json', '{"message":"Missing Authentication Token"}'],
  ['a page that is not found', 404, 'text/html', '<h1>Not found</h1>'],
  ['an API that names its requests', 200, 'application/json', '{"message":"hello"}'],
  ['a problem body', 429, 'application/problem+json', '{"title":"Too Many Requests","status":429}'],
]

/** One of each command that reads or writes tables; what each needs beside the endpoint. */
const COMMANDS: string[][] = [
  ['tiers', 'apply', 'tiers.yaml', '--yes'],
  ['tiers', 'diff', 'tiers.yaml'],
  ['tiers', 'list'],
  ['tiers', 'get', 'free'],
  ['tiers', 'export'],
  ['clients', 'create', 'acme', '--tier', 'free'],
  ['clients', 'set', 'acme', '--tier', 'free'],
  ['clients', 'get', 'acme'],
  ['clients', 'list'],
  ['clients', 'disable', 'acme'],
  ['clients', 'delete', 'acme', '--yes'],
  ['clients', 'rotate-key', 'acme'],
  ['block', 'add', '203.0.113.7'],
  ['block', 'remove', '203.0.113.7', '--yes'],
  ['block', 'list'],
  ['usage', 'acme'],
  ['peek', 'acme'],
  ['refund', 'acme', '1'],
  ['reset', 'acme'],
]

/** All of them share the client that looks at answers, so one that reads and one that writes stand for the others. */
const FEW = COMMANDS.filter(
  ([group, verb]) => `${group} ${verb}` === 'tiers apply' || `${group} ${verb}` === 'block add',
)

// The SDK would ask again, later and later, who answers 429.
beforeAll(() => {
  process.env.AWS_MAX_ATTEMPTS = '1'
})
afterAll(() => {
  delete process.env.AWS_MAX_ATTEMPTS
})

describe.each(OTHERS)('an endpoint that answers with %s', (name, status, type, body) => {
  let server: Server
  let endpoint: string
  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume()
      const named = name === 'an API that names its requests' && {
        'x-amzn-requestid': 'ed4747b5-22cf-487d-a394-34fd011afbf4',
      }
      response.writeHead(status, { 'content-type': type, ...named }).end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))

  it.each((name === 'a page' ? COMMANDS : FEW).map((command) => [command.join(' '), command] as const))(
    'is reported as not being DynamoDB by sluice %s',
    async (_line, command) => {
      const { code, out, err } = await sluice([...command, '--endpoint', endpoint])
      expect(err).toContain(`${endpoint} does not answer as DynamoDB does (status ${status})`)
      expect({ code, out }).toEqual({ code: 1, out: '' })
    },
  )
})
