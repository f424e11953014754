import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import type { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { UpdateItemCommand, type UpdateItemInput } from '@aws-sdk/client-dynamodb'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { SignatureV4 } from '@smithy/signature-v4'
import { createStateTable } from '../../limiter'
import { type BenchEngine, CountingClient, CREDENTIALS, REGION } from '../engine'
import { toFigure } from '../figure'
import type { Bench, Part } from '../part'
import { PLENTY, windowSet } from '../policies'
import { interleaved, median, ratios, summary } from '../statistics'

const SUBJECTS = 200
const TABLE = 'bench-cpu'
type Way = 'direct' | 'SDK'
type Arm = `${'bare' | 'one' | 'four'}, ${Way}`

/** What a decision costs beside its call: the processor time of this process, garbage collection included. */
export const cpu: Part = {
  title: 'CPU per decision, against a bare UpdateItem',

  async run(bench) {
    const client = new CountingClient(bench.engine)
    await createStateTable(client, TABLE)
    const handler = new NodeHttpHandler({ httpAgent: { keepAlive: true } })
    const arms: Record<Arm, (subject: number) => Promise<unknown>> = {
      'bare, SDK': (subject) => client.send(new UpdateItemCommand(bareUpdate('sdk', subject))),
      'bare, direct': directUpdate(bench.engine, handler),
      'one, direct': decision(bench, 'direct', 1, {}),
      'four, direct': decision(bench, 'direct', 4, {}),
      'one, SDK': decision(bench, 'SDK', 1, { client }),
      'four, SDK': decision(bench, 'SDK', 4, { client }),
    }
    const decisions = bench.quick ? 60 : 200
    const slice = (run: (subject: number) => Promise<unknown>) => () =>
      cpuMicroseconds(decisions, (i) => run(i % SUBJECTS))
    const slices = Object.fromEntries(Object.entries(arms).map(([arm, run]) => [arm, slice(run)])) as {
      [Name in Arm]: () => Promise<number>
    }
    for (const run of Object.values(slices)) for (let i = 0; i < (bench.quick ? 1 : 6); i++) await run()
    const limits = { most: 60, least: bench.quick ? 5 : 20, budgetMs: bench.quick ? 1500 : 45_000 }
    const used = await interleaved(slices, limits)
    client.destroy()
    handler.destroy()
    const rounds = `${used['bare, SDK'].length} rounds of ${decisions}`
    const against = (name: string, arm: Arm, base: Arm, atMost?: number) =>
      toFigure(name, {
        ...summary(ratios(used[arm], used[base])),
        unit: '×',
        ...(atMost !== undefined && { goal: { atMost } }),
        notes: [rounds],
      })
    return {
      figures: [
        against("1 policy, against the SDK's call", 'one, direct', 'bare, SDK', 0.6),
        against("4 policies, against the SDK's call", 'four, direct', 'bare, SDK', 0.75),
        against("1 policy, against a direct call by the SDK's signer and handler", 'one, direct', 'bare, direct', 1.3),
        against(
          "4 policies, against a direct call by the SDK's signer and handler",
          'four, direct',
          'bare, direct',
          1.65,
        ),
        against("1 policy through the SDK's client, against its call", 'one, SDK', 'bare, SDK'),
        against("4 policies through the SDK's client, against its call", 'four, SDK', 'bare, SDK'),
      ],
      details: [
        `Median CPU: ${Object.entries(used)
          .map(([arm, values]) => `${arm} ${Math.round(median(values))} µs`)
          .join('; ')}.`,
        `User and system, one request at a time over ${SUBJECTS} subjects, on ${bench.engine.name} in a process of its own.`,
        'Bare: one SET, one ADD, one condition with an OR, ReturnValues ALL_OLD, no deadline.',
      ],
    }
  },
}

/** The least that the SDK's packages need for a call: its signer and its HTTP handler. */
function directUpdate({ endpoint }: BenchEngine, handler: NodeHttpHandler): (subject: number) => Promise<unknown> {
  const { protocol, hostname, port, host } = new URL(endpoint)
  const scope = { region: REGION, service: 'dynamodb', credentials: CREDENTIALS }
  const signer = new SignatureV4({ ...scope, sha256: Sha256, applyChecksum: false })
  const target = 'DynamoDB_20120810.UpdateItem'
  const headers = { host, 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target }
  const at = { method: 'POST', protocol, hostname, port: Number(port), path: '/', query: {} }
  return async (subject) => {
    const body = JSON.stringify(bareUpdate('direct', subject))
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const signed = await signer.sign({ ...at, headers: { ...headers, ...length }, body })
    const { response } = await handler.handle(signed as never)
    return json(response.body as Readable)
  }
}

/** As the signer asks for it. */
class Sha256 {
  private readonly hash: Hash | Hmac

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = secret ? createHmac('sha256', secret as string) : createHash('sha256')
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.hash.update(data as string)
  }

  async digest(): Promise<Uint8Array> {
    return this.hash.digest()
  }

  reset(): void {}
}

function decision(
  { product, engine }: Bench,
  way: Way,
  count: 1 | 4,
  { client }: { readonly client?: CountingClient },
): (subject: number) => Promise<void> {
  const connection = client ? { client } : { endpoint: engine.endpoint, region: REGION, credentials: CREDENTIALS }
  const limiter = product.createLimiter({
    store: new product.DynamoDbStore({ ...connection, tableName: TABLE }),
    policies: windowSet(count),
    deadlineMs: 10_000,
    onStoreError: 'throw',
  })
  return async (subject) => {
    const { allowed } = await limiter.take(`client:${way}:${count}:${subject}`)
    if (!allowed) throw new Error('a request was denied that should have been allowed')
  }
}

/** What one would write by hand for a counter with a limit. */
const bareUpdate = (way: string, subject: number): UpdateItemInput => ({
  TableName: TABLE,
  Key: { pk: { S: `client#bare-${way}-0123456789-0123456789-0123456789-0123-${subject}` } },
  UpdateExpression: 'SET seen = :now ADD used :one',
  ConditionExpression: 'attribute_not_exists(used) OR used <= :most',
  ExpressionAttributeValues: {
    ':now': { N: String(Date.now()) },
    ':one': { N: '1' },
    ':most': { N: String(PLENTY) },
  },
  ReturnValues: 'ALL_OLD',
})

async function cpuMicroseconds(decisions: number, run: (i: number) => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage()
  for (let i = 0; i < decisions; i++) await run(i)
  const { user, system } = process.cpuUsage(start)
  return (user + system) / decisions
}
