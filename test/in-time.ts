/**
 * Does something, and fails if it takes longer. A timer of the same process judges, so a machine that is busy with
 * something else fails nothing.
 *
 * @param ms the time that it may take.
 */
export async function inTime<T>(ms: number, action: () => Promise<T>): Promise<T> {
  const done = action()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}
