/** Who wants to know of each signal: one listener for all of them, since Node warns of more than ten. */
const callsOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls back once when the signal is aborted, which it must not be yet.
 *
 * @returns a function that calls it off. Once nobody waits for a signal, it has no listener.
 */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (!signal) return () => {}
  const calls = callsOf.get(signal) ?? new Set()
  if (calls.size === 0) {
    callsOf.set(signal, calls)
    signal.addEventListener('abort', tellAll)
  }
  calls.add(call)
  return () => {
    if (calls.delete(call) && calls.size === 0) signal.removeEventListener('abort', tellAll)
  }
}

function tellAll(this: AbortSignal): void {
  for (const call of callsOf.get(this)!) call()
}
