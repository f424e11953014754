import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { readPartition } from '../../provisioning/documents'
import { contentHash, type PolicySetItem } from '../../provisioning/tiers-file'
import { retried, write } from './retried'
import { SEED_PARTITION } from './seed-partition'

/** The seeding request: a request of CloudFormation, with its stack and resource. */
export interface Deployment {
  readonly request: string
  /** The stack and the resource in it. */
  readonly owner: string
}

/**
 * A table's record of the code that has authority over its tiers. Every transaction of a deployment writes it, so that
 * of two deployments at the same time, such as one that hangs and its rollback, only the later goes on.
 */
export interface Authority extends Deployment, PolicySetItem {
  /** A hash of the code's items; absent if no code has authority. */
  readonly code?: string
  /** The code before that. */
  readonly before?: string
  /** Whether the table has been made to match the code. */
  readonly done: boolean
  /** Earlier requests, which must not go on. */
  readonly superseded: readonly string[]
  /** Others' edits that this request has undone: the first of them, and their number. */
  readonly undone: readonly string[]
  readonly undoneCount: number
}

export const AUTHORITY_KEY = { pk: SEED_PARTITION, sk: 'authority' } as const
const MAX_SUPERSEDED = 20

/** A later deployment has begun, and its code is in force. */
class SupersededError extends Error {
  override readonly name = 'SupersededError'

  constructor() {
    super('a later deployment, such as a rollback, has taken over: nothing more is written')
  }
}

/** The same hash for the same items in any order. */
export const hashOfCode = (items: readonly PolicySetItem[]): string =>
  contentHash(Object.fromEntries(items.map((item) => [item.sk, contentHash(item)])))

/**
 * The table's authority with this deployment as the latest, and nothing else changed.
 *
 * @throws where another stack's code has authority, or a later deployment has taken over.
 */
export function joinedBy(known: Authority | undefined, deployment: Deployment): Authority {
  if (known?.superseded.includes(deployment.request)) throw new SupersededError()
  if (known?.code !== undefined && stackOf(known.owner) !== stackOf(deployment.owner))
    throw new Error(
      `the tiers of this table are those of another stack's code, ${stackOf(known.owner)}: one table takes seed: 'authoritative' of one stack. ` +
        `If that stack is gone, delete the item ${JSON.stringify(AUTHORITY_KEY)}`,
    )
  if (known?.request === deployment.request) return known
  const superseded = known ? [...known.superseded, known.request].slice(-MAX_SUPERSEDED) : []
  return { done: false, ...known, ...AUTHORITY_KEY, ...deployment, superseded, undone: [], undoneCount: 0 }
}

/** The authority while the code is being written: not done, with the previous code. */
export function beginning(known: Authority, code: string): Authority {
  const before = known.done && known.code !== code ? known.code : known.before
  return { ...known, code, ...(before !== undefined && { before }), done: false }
}

/**
 * The authority after a resource without authority writes: one that is still writing with authority ends, and no code
 * has authority.
 */
export async function releaseAuthority(
  documents: DynamoDBDocumentClient,
  table: string,
  deployment: Deployment,
  isDeleted: boolean,
): Promise<void> {
  await retried(async () => {
    const stored = (await readPartition(documents, table, SEED_PARTITION)).find(
      ({ item }) => item.sk === AUTHORITY_KEY.sk,
    )
    const known = stored?.item as Authority | undefined
    const isOwn =
      known && (isDeleted ? known.owner === deployment.owner : stackOf(known.owner) === stackOf(deployment.owner))
    if (!isOwn) return
    const { code: _code, before: _before, ...after } = joinedBy(known, deployment)
    await write(documents, table, [{ key: AUTHORITY_KEY, before: stored!.exact, after }])
  })
}

const stackOf = (owner: string): string => owner.split(' ', 1)[0]!
