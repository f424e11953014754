import {
  type Client,
  clientIpKey,
  hashApiKey,
  type Identity,
  type IpAddress,
  parseIpAddress,
} from '../../facade/callers'
import type { LoggedRequest, Sender } from '../requests/logged-request'
import type { KnownClients } from './known-clients'

/** Who sent a request, as far as its line tells. */
export interface Caller {
  /** Whom reports show: `client:acme`, `ip:203.0.113.7`. */
  readonly name: string
  /** As the steps of the authorizer find it. */
  readonly identity: Identity<Client>
  readonly ip: IpAddress | undefined
  /** `ip:203.0.113.7`, as it is counted. */
  readonly address: string
  readonly client: Client | undefined
  /** What the line does not tell. */
  readonly lacks?: 'caller' | 'tier'
}

/** How callers are known. */
export interface CallerOptions {
  /** Clients of the config table. @default none is known, and a key is taken for a client */
  readonly clients?: KnownClients
  /** The tier of callers of which neither the log nor the config table tells one. */
  readonly tier?: string
  /** Bits of an IPv6 address that identify one caller. */
  readonly ipv6Prefix: number
  /**
   * Whether the settings take the address from a header, which a log does not have: then only the stored subject of an
   * anonymous caller tells its address apart. @default false
   */
  readonly addressInHeader?: boolean
}

/** Where all requests without an address count. */
const UNKNOWN = 'ip:unknown'
/** A subject as it is stored, which tells its kind and nothing else. */
const STORED = /^(client|user|ip|subject)[#~][\w-]{43}$/

/** Works out who sent a request. */
export function callerOf(request: LoggedRequest, options: CallerOptions): Caller {
  const { sender } = request
  const { clients } = options
  const stored = sender.subject && STORED.exec(sender.subject)?.[1]
  const subject = stored ? (clients?.byStoredKey(sender.subject!) ?? sender.subject!) : sender.subject
  const isAddress = stored === 'ip' || subject?.startsWith('ip:') === true
  const ip = parseIpAddress(sender.ip ?? (isAddress && !stored ? subject!.slice(3) : ''))
  const peer = addressOf(sender.ip, ip, options)
  const address = isAddress && (options.addressInHeader || peer === UNKNOWN) ? subject! : peer
  const named = isAddress || isPart(subject) ? undefined : subject
  const found = namedCaller(sender, named, clients)
  const anonymous = (lacks?: Caller['lacks']): Caller => ({
    name: address,
    identity: { kind: 'anonymous' },
    ip,
    address,
    client: undefined,
    ...(lacks && { lacks }),
  })
  if (!found) return anonymous(address === UNKNOWN ? 'caller' : undefined)
  const { name, client, isUnknownKey } = found
  if (isUnknownKey) return anonymous()
  const tier = sender.tier ?? client?.tier ?? options.tier
  const user = sender.user === undefined ? name : `user:${sender.user}`
  return {
    name,
    identity: { kind: 'known', caller: name, user, tier, client, claims: claimsOf(request), namespace: '' },
    ip,
    address,
    client,
    ...(tier === undefined && { lacks: 'tier' }),
  }
}

interface Named {
  readonly name: string
  readonly client?: Client
  readonly isUnknownKey?: boolean
}

/** A client before a key before a user: of a client's request with a user, the client is the caller. */
function namedCaller(sender: Sender, subject: string | undefined, clients?: KnownClients): Named | undefined {
  const { client: id = subject?.startsWith('client:') ? subject.slice(7) : undefined, key } = sender
  if (id !== undefined) return { name: `client:${id}`, client: clients?.byId(id) }
  if (key !== undefined) {
    const client = clients?.byKey(key)
    if (client) return { name: `client:${client.id}`, client }
    return { name: `client:${shownKey(key)}`, isUnknownKey: clients !== undefined && sender.user === undefined }
  }
  const user = sender.user ?? (subject?.startsWith('user:') ? subject.slice(5) : undefined)
  if (user !== undefined) {
    const client = clients?.byUser(user)
    return client ? { name: `client:${client.id}`, client } : { name: `user:${user}` }
  }
  if (subject === undefined) return undefined
  return { name: /^[a-z][a-z0-9-]{0,15}(@[^:]+)?[:#~]/.test(subject) ? subject : `client:${subject}` }
}

/** What is counted, and is no caller: preflights. */
const isPart = (subject: string | undefined): boolean => subject?.startsWith('preflight') === true

/** An id of API Gateway is no secret; anything else may be one, and is shown by its hash. */
const shownKey = (key: string): string =>
  /^[a-z0-9]{10}$/.test(key) ? key : `key-sha256-${hashApiKey(key).slice(0, 16)}`

function addressOf(text: string | undefined, ip: IpAddress | undefined, { ipv6Prefix }: CallerOptions): string {
  const key = ip && text && clientIpKey(text, ipv6Prefix)
  return key ? `ip:${key}` : UNKNOWN
}

const NO_CLAIMS = Object.freeze({})

function claimsOf({ values }: LoggedRequest): Readonly<Record<string, unknown>> {
  if (!values) return NO_CLAIMS
  const claims = [...values].flatMap(([name, value]) => (name.startsWith('claim:') ? [[name.slice(6), value]] : []))
  return Object.fromEntries(claims)
}
