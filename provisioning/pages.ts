/** Gathers the pages of a list. */
export async function pages<T>(
  read: (from: string | undefined) => Promise<{ readonly items?: readonly T[]; readonly next?: string }>,
): Promise<T[]> {
  const all: T[] = []
  let from: string | undefined
  do {
    const { items = [], next } = await read(from)
    all.push(...items)
    from = next
  } while (from)
  return all
}
