import type { StoredItem } from '../../provisioning/documents'
import { DEFAULT_IDENTITY, type SourceSettings } from '../facade/policies'
import { counted } from '../terminal/output'
import { hasOwnKey } from './client-records'

/** A kind of credential that client records have: who reads it of requests, and how it is called. */
interface Kind {
  readonly source: string
  readonly called: string
  isRead(source: SourceSettings): boolean
  isOf(record: StoredItem): boolean
}

const named =
  (...sources: readonly string[]) =>
  ({ item: { pk } }: StoredItem) =>
    sources.some((source) => new RegExp(`^client#${source}(@[^:]+)?:`).test(pk))

const KINDS: readonly Kind[] = [
  { source: 'api-key', called: 'API key', isRead: ({ source }) => source === 'api-key', isOf: hasOwnKey },
  {
    source: 'api-gateway-key',
    called: 'API Gateway key',
    isRead: ({ source }) => source === 'api-gateway-key',
    isOf: named('api-gateway-key'),
  },
  {
    source: 'client-certificate',
    called: 'certificate',
    isRead: ({ source }) => source === 'client-certificate',
    isOf: named('client-certificate'),
  },
  {
    source: 'source with lookup: true',
    called: 'user or caller',
    isRead: (source) => 'lookup' in source && source.lookup === true,
    isOf: named('user', 'client'),
  },
]

/** More clients are counted, and not named. */
const MAX_NAMED = 5

/** Whether the settings say who is asked: the default reads the keys of `clients create`. */
export const isOwnIdentity = (identity: readonly SourceSettings[]): boolean => identity !== DEFAULT_IDENTITY

/**
 * Sentences about credentials of clients that no source of identity reads: whoever shows one is anonymous, and nothing
 * else says so.
 */
export function unreadCredentials(identity: readonly SourceSettings[], clients: readonly StoredItem[]): string[] {
  return KINDS.flatMap(({ source, called, isRead, isOf }) => {
    const records = identity.some(isRead) ? [] : clients.filter(isOf)
    if (records.length === 0) return []
    const ids = [...new Set(records.map(({ item }) => String(item.id)))].sort()
    const shown = ids.length > MAX_NAMED ? [...ids.slice(0, MAX_NAMED), '…'] : ids
    return `settings.identity has no ${source}, so ${counted(records.length, called)} of ${shown.join(', ')} identify no client: requests with them are anonymous`
  })
}

/** The same for a file of its own, where clients are not known. */
export function unreadKeys(identity: readonly SourceSettings[]): string[] {
  if (identity.some(({ source }) => source === 'api-key')) return []
  return [
    'settings.identity has no api-key: API keys made by clients create identify no client, so requests with them are anonymous',
  ]
}
