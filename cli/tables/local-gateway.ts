/** Where `npm start` serves the local gateway, if nothing else is said. */
const ADDRESS = 'http://localhost:3000'

/** A gateway on this machine answers at once. */
const TIMEOUT_MS = 300

/** The address of a local gateway that runs on its usual port; undefined where there is none. */
export async function runningGateway(): Promise<string | undefined> {
  try {
    const answer = await fetch(`${ADDRESS}/_local/backend-calls`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { total } = (await answer.json()) as { readonly total?: unknown }
    return typeof total === 'number' ? ADDRESS : undefined
  } catch {
    return undefined
  }
}
