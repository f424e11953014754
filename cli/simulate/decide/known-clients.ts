import type { StoredItem } from '../../../provisioning/documents'
import { type Client, hashApiKey, parseClientItem } from '../../facade/callers'
import type { SubjectKeys } from '../../facade/tables'
import type { Mistake } from '../../facade/values'

/** A client of the config table, or none. */
export interface KnownClients {
  /** The client with this credential, as the authorizer looks it up: an API key, or the id of an API Gateway key. */
  byKey(key: string): Client | undefined
  byUser(user: string): Client | undefined
  byId(id: string): Client | undefined
  /** The subject that is stored under this key: `client:acme`. */
  byStoredKey(stored: string): string | undefined
}

/** Clients as the config table has them; an invalid record is none, as for the authorizer. */
export class ClientDirectory implements KnownClients {
  private readonly credentials = new Map<string, Client>()
  private readonly ids = new Map<string, Client>()
  private readonly stored = new Map<string, string>()
  /** Records that are invalid. */
  readonly invalid: number
  /** Clients, and those of them that have overrides. */
  readonly count: number
  readonly overridden: number

  constructor(records: readonly StoredItem[], keys: SubjectKeys) {
    let invalid = 0
    for (const { item } of records) {
      const issues: Mistake[] = []
      const client = parseClientItem(item, issues)
      if (!client) {
        invalid++
        continue
      }
      const credential = String(item.pk).slice('client#'.length)
      this.credentials.set(credential, client)
      this.ids.set(client.id, client)
      for (const name of [`client:${client.id}`, ...(credential.startsWith('user:') ? [credential] : [])])
        for (const key of keys.allOf(name)) this.stored.set(key, name)
    }
    this.invalid = invalid
    const clients = [...this.ids.values()]
    this.count = clients.length
    this.overridden = clients.filter(({ overrides }) => Object.keys(overrides).length > 0).length
  }

  byKey(key: string): Client | undefined {
    return this.credentials.get(`api-gateway-key:${key}`) ?? this.credentials.get(hashApiKey(key))
  }

  byUser(user: string): Client | undefined {
    return this.credentials.get(`user:${user}`)
  }

  byId(id: string): Client | undefined {
    return this.ids.get(id)
  }

  byStoredKey(stored: string): string | undefined {
    return this.stored.get(stored)
  }
}
