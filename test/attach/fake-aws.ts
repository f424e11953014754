import { APIGatewayClient } from '@aws-sdk/client-api-gateway'
import { ApiGatewayV2Client } from '@aws-sdk/client-apigatewayv2'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { LambdaClient } from '@aws-sdk/client-lambda'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { itemsOf, type TiersFile } from '../../provisioning/tiers-file'
import { type Said, type Situation, sluice } from '../cli/command-line'
import { FakeHttp, WEB_SOCKET_API } from './fake-http'
import { FakeRest } from './fake-rest'
import { failure, type Input } from './fake-service'

export const FUNCTION = 'arn:aws:lambda:us-east-1:123456789012:function:sluice-authorizer'
const TABLE = 'sluice-config'

/** What happens to a call: `before` may throw instead of it, `after` may throw whatever it did. */
interface Hooks {
  before?(name: string, input: Input): void
  after?(name: string, input: Input): void
}

/**
 * An account in memory: API Gateway's control plane for REST, HTTP and WebSocket APIs, a function with its policy, a
 * config table and a stack. It stands in for the SDK's clients, so what it gets is what AWS would.
 */
export class FakeAws {
  readonly rest = new FakeRest()
  readonly http = new FakeHttp()
  readonly webSocket = new FakeHttp(WEB_SOCKET_API)
  readonly statements = new Map<string, string>()
  /** What statements were added to: the function, or an alias of it. */
  readonly permitted: string[] = []
  readonly table = new Map<string, Record<string, { S: string }>>()
  /** Stack outputs. */
  outputs: Record<string, string> = { AuthorizerFunctionArn: FUNCTION }
  environment: Record<string, string> = { SLUICE_CONFIG_TABLE: TABLE }
  /** Whether somebody deleted the function, and with it who may call it. */
  isFunctionGone = false
  /** Environments of other functions, by ARN. */
  readonly otherFunctions = new Map<string, Record<string, string>>()
  /** Names of all calls so far. */
  calls: string[] = []
  hooks: Hooks = {}

  constructor() {
    const copied =
      (handle: (name: string, input: Input) => unknown) =>
      (name: string, input: Input): unknown =>
        structuredClone(handle(name, structuredClone(input)))
    const wire = (client: { prototype: { send: unknown } }, handle: (name: string, input: Input) => unknown) =>
      jest
        .spyOn(client.prototype as { send: (command: never) => Promise<unknown> }, 'send')
        .mockImplementation(
          async (command: { readonly input: Input; readonly constructor: { readonly name: string } }) => {
            const name = command.constructor.name.replace(/Command$/, '')
            this.hooks.before?.(name, command.input)
            this.calls.push(name)
            try {
              return handle(name, command.input)
            } finally {
              this.hooks.after?.(name, command.input)
            }
          },
        )
    wire(
      APIGatewayClient,
      copied((name, input) => this.rest.handle(name, input)),
    )
    wire(
      ApiGatewayV2Client,
      copied((name, input) => (input.ApiId === this.webSocket.id ? this.webSocket : this.http).handle(name, input)),
    )
    wire(
      LambdaClient,
      copied((name, input) => this.lambda(name, input)),
    )
    wire(DynamoDBDocumentClient, (name, input) => toDocuments(this.dynamoDb(name, toAttributes(input))))
    wire(CloudFormationClient, () => ({
      Stacks: [
        {
          StackName: 'Sluice',
          Outputs: Object.entries(this.outputs).map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue })),
        },
      ],
    }))
  }

  /** Runs a command line against this account. */
  sluice(args: readonly string[], situation: Situation = {}): Promise<Said> {
    return sluice([...args, '--region', 'us-east-1', '--table', TABLE], situation)
  }

  /** Writes a tiers file into the config table, as `tiers apply` does. */
  configure(file: TiersFile): void {
    for (const [key] of this.table) if (key.startsWith(CONFIG_TABLE.policySet)) this.table.delete(key)
    for (const item of itemsOf(file)) {
      this.table.set(
        `${item.pk} ${item.sk}`,
        marshall(item, { removeUndefinedValues: true }) as Record<string, { S: string }>,
      )
    }
  }

  /**
   * Everything that somebody else owns: all kinds of APIs with what their stages serve, and who may call the function.
   */
  dump(): string {
    return JSON.stringify(
      {
        rest: this.rest.dump(),
        http: this.http.dump(),
        webSocket: this.webSocket.dump(),
        statements: [...this.statements],
      },
      undefined,
      1,
    )
  }

  /** Keys of what the config table has, but for the count of labels that were given and the audit trail. */
  kept(): string[] {
    return [...this.table.keys()].filter((key) => key !== 'api-labels version' && !key.startsWith('audit '))
  }

  /** An API's item in the config table. */
  called(id: string): unknown {
    const item = this.table.get(`policy-set api#${id}`)
    if (!item) return undefined
    const { pk: _pk, sk: _sk, ...fields } = unmarshall(item)
    return fields
  }

  /** Writes or removes an API's item as somebody else would. */
  call(id: string, fields: object | undefined): void {
    const key = { pk: 'policy-set', sk: `api#${id}` }
    if (fields) this.table.set(`${key.pk} ${key.sk}`, marshall({ ...key, ...fields }) as Record<string, { S: string }>)
    else this.table.delete(`${key.pk} ${key.sk}`)
  }

  /** What a request to a stage meets. */
  meets(
    api: 'rest' | 'http' | 'webSocket',
    stage: string,
    key: string,
  ): 'the backend' | 'Sluice' | 'another authorizer' | 'an error' {
    const { authorizerId, uri, type } = this[api].served(stage, key)
    if (type === 'NONE') return 'the backend'
    if (!uri?.includes(FUNCTION)) return 'another authorizer'
    const sources = [...this.statements.values()]
    return sources.some((source) => source.endsWith(`:${this[api].id}/authorizers/${authorizerId}`))
      ? 'Sluice'
      : 'an error'
  }

  private lambda(name: string, input: Input): unknown {
    const id = String(input.StatementId)
    // Lambda takes an alias behind each name of a function
    const [, named = '', alias] = /^(.*?)(?::(live))?$/.exec(String(input.FunctionName)) ?? []
    const [arn, other] = [...this.otherFunctions].find(([arn]) => arn === named || arn.endsWith(`:${named}`)) ?? []
    if (other && name === 'GetFunctionConfiguration') return { FunctionArn: arn, Environment: { Variables: other } }
    if (this.isFunctionGone || !named.endsWith('sluice-authorizer'))
      throw failure('ResourceNotFoundException', 404, 'Function not found')
    switch (name) {
      case 'GetFunctionConfiguration':
        return {
          FunctionArn: `${FUNCTION.replace('sluice-authorizer', named.split(':').at(-1)!)}${alias ? ':7' : ''}`,
          Environment: { Variables: this.environment },
        }
      case 'GetPolicy':
        if (this.statements.size === 0)
          throw failure('ResourceNotFoundException', 404, 'The resource you requested does not exist.')
        return { Policy: JSON.stringify({ Statement: [...this.statements.keys()].map((Sid) => ({ Sid })) }) }
      case 'AddPermission':
        if (this.statements.has(id))
          throw failure('ResourceConflictException', 409, 'The statement id provided already exists')
        this.statements.set(id, String(input.SourceArn))
        this.permitted.push(String(input.FunctionName))
        return {}
      case 'RemovePermission':
        if (!this.statements.delete(id)) throw failure('ResourceNotFoundException', 404, 'Statement not found')
        return {}
      default:
        throw new Error(`no ${name} here`)
    }
  }

  private dynamoDb(name: string, input: Input): unknown {
    if (name !== 'TransactWrite' && input.TableName !== TABLE)
      throw failure('ResourceNotFoundException', 400, 'Requested resource not found')
    const keyOf = (key: never) => `${(key as { pk: { S: string } }).pk.S} ${(key as { sk: { S: string } }).sk.S}`
    switch (name) {
      case 'Put':
      case 'Delete':
        if (!holds(input, this.table.get(keyOf((input.Item ?? input.Key) as never)))) {
          throw failure('ConditionalCheckFailedException', 400, 'The conditional request failed')
        }
        if (input.Item) this.table.set(keyOf(input.Item as never), input.Item as never)
        else this.table.delete(keyOf(input.Key as never))
        return {}
      case 'TransactWrite': {
        const all = (input.TransactItems as { Put?: Input; Delete?: Input }[]).map(({ Put, Delete }) => Put ?? Delete!)
        const CancellationReasons = all.map((one) => ({
          Code: holds(one, this.table.get(keyOf((one.Item ?? one.Key) as never))) ? 'None' : 'ConditionalCheckFailed',
        }))
        if (CancellationReasons.some(({ Code }) => Code !== 'None'))
          throw Object.assign(failure('TransactionCanceledException', 400, 'Transaction cancelled'), {
            CancellationReasons,
          })
        for (const one of all) this.dynamoDb(one.Item ? 'Put' : 'Delete', { ...one, ConditionExpression: undefined })
        return {}
      }
      case 'Get':
        return { Item: this.table.get(keyOf(input.Key as never)) }
      case 'Scan': {
        // of the journals of all attachments
        const { ':journals': prefix, ':header': sk } = input.ExpressionAttributeValues as Record<string, { S: string }>
        const Items = [...this.table.values()].filter(
          (item) => item.pk!.S.startsWith(prefix!.S) && item.sk!.S === sk!.S,
        )
        return { Items }
      }
      case 'Query': {
        const [pk] = Object.values(input.ExpressionAttributeValues as Record<string, { S: string }>)
        const found = [...this.table.values()].filter((item) => item.pk!.S === pk!.S)
        const start = input.ExclusiveStartKey
          ? found.findIndex((item) => keyOf(item as never) === keyOf(input.ExclusiveStartKey as never)) + 1
          : 0
        const Items = found.slice(start, start + 2)
        const last = Items.at(-1)
        return { Items, LastEvaluatedKey: start + 2 < found.length && last ? { pk: last.pk, sk: last.sk } : undefined }
      }
      default:
        throw new Error(`no ${name} here`)
    }
  }
}

const DOCUMENTS = ['Item', 'Key', 'ExclusiveStartKey', 'ExpressionAttributeValues'] as const

/** What the document client makes of the input of a command. */
function toAttributes(input: Input): Input {
  const items = input.TransactItems as readonly Record<string, Input>[] | undefined
  const made = DOCUMENTS.flatMap((name) =>
    input[name] === undefined ? [] : [[name, marshall(input[name], { removeUndefinedValues: true })]],
  )
  const TransactItems = items?.map((one) =>
    Object.fromEntries(Object.entries(one).map(([kind, inner]) => [kind, toAttributes(inner)])),
  )
  return { ...input, ...Object.fromEntries(made), ...(TransactItems && { TransactItems }) }
}

/** What the document client of the command line makes of an answer. */
function toDocuments(output: unknown): unknown {
  const { Item, Items, LastEvaluatedKey } = output as { Item?: never; Items?: never[]; LastEvaluatedKey?: never }
  const exact = (one: never | undefined) => one && unmarshall(one, { wrapNumbers: true })
  return { Item: exact(Item), Items: Items?.map(exact), LastEvaluatedKey: exact(LastEvaluatedKey) }
}

/**
 * Whether a condition of the forms that are used here holds for an item: that attributes are there, are not, or are
 * equal.
 */
function holds(
  { ConditionExpression, ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: Input,
  item: object | undefined,
): boolean {
  if (ConditionExpression === undefined) return true
  const names = ExpressionAttributeNames as Readonly<Record<string, string>>
  const found = (item ?? {}) as Readonly<Record<string, unknown>>
  return String(ConditionExpression)
    .split(' AND ')
    .every((part) => {
      const [, not, asked] = /^attribute_(not_)?exists\((.*)\)$/.exec(part) ?? []
      if (asked !== undefined) return (found[names[asked] ?? asked] !== undefined) === (not === undefined)
      const [, name, value] = /^(#\w+) = (:\w+)$/.exec(part)!
      return (
        JSON.stringify(found[names[name!]!]) ===
        JSON.stringify((ExpressionAttributeValues as Readonly<Record<string, unknown>>)[value!])
      )
    })
}
