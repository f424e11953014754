import { type RingKey, type SubjectKeys, subjectKey, withSecret } from '../facade/tables'
import type { EpochMs } from '../facade/values'

/** A subject's hash, as the log, the context and the state table have it: `ip~…`, without a secret `ip#…`. */
const HASH = /^([a-z][a-z0-9-]{0,15})([#~])[\w-]{43}$/

/** A hash in its parts. */
export interface StoredHash {
  readonly text: string
  /** What stood before the first colon of the subject, `client`; `subject` where no plain word did. */
  readonly scope: string
  /** Whether it was made with a secret of the deployment. */
  readonly isKeyed: boolean
}

/** The hash that a text is; `undefined` for what is none, such as a client's id. */
export function toHash(text: string): StoredHash | undefined {
  const [, scope, sign] = HASH.exec(text) ?? []
  return scope === undefined ? undefined : { text, scope, isKeyed: sign === '~' }
}

/** How a subject came to a hash. */
export interface Match {
  /** The secret; `undefined`: none. */
  readonly secret: RingKey | undefined
}

/** Tells whether a subject has this hash, under any secret that is known. */
export function matcherOf(hash: StoredHash, { keys }: SubjectKeys): (name: string) => Match | undefined {
  const secrets: readonly (RingKey | undefined)[] = hash.isKeyed ? keys : [undefined]
  return (name) => {
    if (scopeOf(name) !== hash.scope) return undefined
    const at = secrets.findIndex((one) => subjectKey(name, one?.secret) === hash.text)
    return at < 0 ? undefined : { secret: secrets[at] }
  }
}

/** The scope that a subject's hash begins with. */
export const scopeOf = (name: string): string => /^[a-z][a-z0-9-]{0,15}(?=:)/.exec(name)?.[0] ?? 'subject'

/**
 * Where the state of a hash's subject is now, although nobody knows the subject; `undefined` where that does not follow
 * from the hash: one made with a secret may be of any of several.
 */
export function presentKeyOf(hash: StoredHash, keys: SubjectKeys, now: EpochMs): string | undefined {
  if (hash.isKeyed) return keys.keys.length === 1 ? hash.text : undefined
  const active = keys.activeAt(now)
  return active ? withSecret(hash.text, active.secret) : hash.text
}

/** Everywhere the subject of a hash is known to have state: under the hash, and what follows from it. */
export const allKeysOf = (hash: StoredHash, { keys }: SubjectKeys): string[] => [
  hash.text,
  ...(hash.isKeyed ? [] : keys.map(({ secret }) => withSecret(hash.text, secret)!)),
]
