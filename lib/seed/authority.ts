import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { readPartition } from '../../provisioning/documents'
import { contentHash, type PolicySetItem } from '../../provisioning/tiers-file'
import { retried, write } from './retried'
import { SEED_PARTITION } from './seed-partition'

/** Who seeds: a request of CloudFormation, and the stack and resource that it is about. */
export interface Deployment {
  readonly request: string
  /** The stack and the resource in it. */
  readonly owner: string
}

/**
 * What a table remembers of the code that has authority over its tiers. Every transaction of a deployment writes it, so
 * that of two deployments at the same time, such as one that hangs and its rollback, only the later goes on.
 */
export interface Authority extends Deployment, PolicySetItem {
  /** A hash of the code's items; none where no code has authority. */
  readonly code?: string
  /** The code before that. */
  readonly before?: string
  /** Whether the table has been made what the code says. */
  readonly done: boolean
  /** Earlier requests, which must not go on. */
  readonly superseded: readonly string[]
  /** What this request has undone of others' edits: the first of them, and how many there are in all. */
  readonly undone: readonly string[]
  readonly undoneCount: number
}

export const AUTHORITY_KEY = { pk: SEED_PARTITION, sk: 'authority' } as const
const MAX_SUPERSEDED = 20

/** A later deployment has begun, whose code counts. */
class SupersededError extends Error {
  override readonly name = 'SupersededError'

  constructor() {
    super('a later deployment, such as a rollback, has taken over: nothing more is written')
  }
}

/** The same for the same items, in whatever order they stand. */
export const hashOfCode = (items: readonly PolicySetItem[]): string =>
  contentHash(Object.fromEntries(items.map((item) => [item.sk, contentHash(item)])))

/**
 * The table's authority with this deployment as the latest; nothing else of it is other than before.
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

/** The code as it is being written: not done, and the one before known. */
export function beginning(known: Authority, code: string): Authority {
  const before = known.done && known.code !== code ? known.code : known.before
  return { ...known, code, ...(before !== undefined && { before }), done: false }
}

/** A resource without authority writes: what one with authority still does ends, and no code has authority. */
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
