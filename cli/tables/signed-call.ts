import { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** A call of a service for which the command line has no client. */
export interface SignedCall {
  /** As signatures and host names call it: `sts`, `logs`. */
  readonly service: string
  /** @default the Region's own */
  readonly endpoint?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/** Of Regions whose endpoints end otherwise, by what their names begin with. */
const SUFFIXES: Readonly<Record<string, string>> = { cn: 'amazonaws.com.cn', eusc: 'amazonaws.eu' }

/**
 * Makes one call in the Region of a DynamoDB client, with its credentials: a client package for a call or two would be
 * one more dependency, and longer to load than they take.
 */
export async function signedCall(client: DynamoDBClient, call: SignedCall): Promise<Response> {
  const { service, headers, body, signal } = call
  const region = await client.config.region()
  const suffix = SUFFIXES[region.split('-', 1)[0]!] ?? 'amazonaws.com'
  const url = new URL(call.endpoint ?? `https://${service}.${region}.${suffix}`)
  // A client's signer goes on signing for the service that it signed for first, so there is one for each call.
  const own = new DynamoDBClient({ region, credentials: client.config.credentials })
  const signer = await own.config.signer({
    name: 'sigv4',
    signingName: service,
    signingRegion: region,
    properties: {},
  })
  own.destroy()
  const signed = await signer.sign({
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port && { port: Number(url.port) }),
    path: '/',
    query: {},
    headers: { host: url.host, ...headers },
    body,
  } as Parameters<typeof signer.sign>[0])
  const { host: _, ...others } = signed.headers
  return fetch(new URL('/', url), { method: 'POST', headers: others, body, signal })
}
