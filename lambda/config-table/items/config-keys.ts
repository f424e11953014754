/** Keys of the config table; one `Query` on the partition `policy-set` finds all of it but the clients. */
export const CONFIG_TABLE = { partitionKey: 'pk', sortKey: 'sk', policySet: 'policy-set' } as const

/** The authorizer reads no policy set with more items: tiers, routes and blocks are written by hand. */
export const MAX_POLICY_SET_ITEMS = 5000

/** The partition that only the authorizer writes. */
export const LAST_VALID_PARTITION = 'last-valid'

export const tierKey = (name: string) => ({ pk: CONFIG_TABLE.policySet, sk: `tier#${name}` })
export const routeKey = (pattern: string) => ({ pk: CONFIG_TABLE.policySet, sk: `route#${pattern}` })
export const settingsKey = () => ({ pk: CONFIG_TABLE.policySet, sk: 'settings' })
export const switchKey = () => ({ pk: CONFIG_TABLE.policySet, sk: 'switch' })
export const apiKey = (id: string) => ({ pk: CONFIG_TABLE.policySet, sk: `api#${id}` })

/** The key of the copy of an item's last valid version; see last-valid.ts. */
export const lastValidKey = (sk: string) => ({ pk: LAST_VALID_PARTITION, sk })

/** @param credential the hash of an API key, or `<source>:<value>` for a credential that is no secret. */
export const clientKey = (credential: string) => ({ pk: `client#${credential}`, sk: 'client' })

/** What a deployment has secrets for: to hash subjects, and to sign API keys. */
export const RING_NAMES = ['hmac-key', 'signing-key'] as const
export type RingName = (typeof RING_NAMES)[number]

/** Each ring has a partition of its own: versions that know nothing of a ring never read it. */
export const ringKey = ({ name }: { readonly name: RingName }) => ({ pk: name, sk: name })
