import dns from 'node:dns'
import tls from 'node:tls'
import type { FaultyDynamoDb } from './proxy'

/** A local address where nothing listens. */
const NO_CREDENTIAL = '127.0.0.2'

type LookupCallback = (
  error: Error | null,
  address?: string | { address: string; family: number }[],
  family?: number,
) => void

/**
 * Replaces the network of this process for the names of `FaultyDynamoDb`s: these are resolved and their certificate is
 * trusted, unless a fault says otherwise. Other names are not changed.
 */
export class Network {
  private readonly hosts = new Map<string, FaultyDynamoDb>()
  private readonly lookup = dns.lookup
  private readonly connect = tls.connect

  constructor() {
    Object.assign(dns, { lookup: (...args: unknown[]) => this.find(args) })
    Object.assign(tls, { connect: (...args: unknown[]) => this.secure(args) })
  }

  /** @returns the URL of the table. */
  add(name: string, table: FaultyDynamoDb, secure: boolean): string {
    const host = `${name}.sluice.test`
    this.hosts.set(host, table)
    return `${secure ? 'https' : 'http'}://${host}:${table.port}`
  }

  restore(): void {
    Object.assign(dns, { lookup: this.lookup })
    Object.assign(tls, { connect: this.connect })
  }

  private find(args: unknown[]): void {
    const [host, options] = args as [string, { all?: boolean } | LookupCallback]
    const callback = args.at(-1) as LookupCallback
    const table = this.hosts.get(host)
    if (!table) return void Reflect.apply(this.lookup, dns, args)
    const fault = table.connectionFault('ENOTFOUND', 'EAI_AGAIN', 'refused')
    process.nextTick(() => {
      if (fault === 'ENOTFOUND' || fault === 'EAI_AGAIN') {
        const error = Object.assign(new Error(`getaddrinfo ${fault} ${host}`), {
          code: fault,
          syscall: 'getaddrinfo',
          hostname: host,
        })
        return callback(error)
      }
      const address = fault === 'refused' ? NO_CREDENTIAL : '127.0.0.1'
      if (typeof options === 'object' && options.all) callback(null, [{ address, family: 4 }])
      else callback(null, address, 4)
    })
  }

  private secure(args: unknown[]): unknown {
    const [options, ...rest] = args as [tls.ConnectionOptions, ...unknown[]]
    const table = this.hosts.get(String(options?.host))
    const trusted = table !== undefined && table.connectionFault('untrusted') === undefined
    return Reflect.apply(this.connect, tls, [trusted ? { ...options, rejectUnauthorized: false } : options, ...rest])
  }
}
