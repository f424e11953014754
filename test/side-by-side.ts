/**
 * Does something for each of these, so many at a time, so that their waits pass together.
 *
 * @returns for each of them what that comes to. A failure that nobody asks for is told to nobody.
 */
export function sideBySide<One, Result>(
  all: readonly One[],
  most: number,
  run: (one: One) => Promise<Result>,
): readonly Promise<Result>[] {
  const running: Promise<unknown>[] = []
  return all.map((one, i) => {
    const before = running[i - most]
    const result = before ? before.then(() => run(one)) : run(one)
    running[i] = result.catch(() => {})
    return result
  })
}
