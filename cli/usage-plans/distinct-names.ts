import { createHash } from 'node:crypto'

/** Something that wants a name. */
export interface Named {
  readonly wanted: string
  /** What it stands for, as no other does. */
  readonly id: string
}

/** An id this long ends a name as it is, and a longer one as a hash. */
const READABLE_LENGTH = 24
const HASH_LENGTH = 8

/**
 * A name for each, no two alike. Who wants a name that another wants, or that is taken or too long, gets it with an end
 * that follows from its id, so that every run gives the same names.
 */
export function distinctNames(
  all: readonly Named[],
  isTaken: (name: string) => boolean,
  maxLength: number,
): ReadonlyMap<string, string> {
  const names = new Map(all.map(({ wanted, id }) => [id, wanted]))
  for (let tries = 0; ; tries++) {
    const counts = new Map<string, number>()
    for (const name of names.values()) counts.set(name, (counts.get(name) ?? 0) + 1)
    const clashing = all.filter(({ id }) => {
      const name = names.get(id)!
      return name === '' || name.length > maxLength || counts.get(name)! > 1 || isTaken(name)
    })
    if (clashing.length === 0) return names
    for (const { wanted, id } of clashing) {
      const end = tries === 0 && id.length <= READABLE_LENGTH ? id : hashOf(id).slice(0, HASH_LENGTH * (tries + 1))
      names.set(id, [wanted.slice(0, maxLength - end.length - 1), end].filter((part) => part !== '').join('-'))
    }
  }
}

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex')
