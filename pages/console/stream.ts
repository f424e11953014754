import { useEffect, useState } from 'preact/hooks'
import type { Full, Hello, Look, Standing, Tally, Wrong } from './protocol'

const KEEP_SECONDS = 125

/** What the page knows. `tallies` is one map, by second, for what draws at its own pace. */
export interface Known {
  readonly hello: Hello
  readonly standing: Standing
  readonly tallies: Map<number, Tally[1]>
  /** Added to this clock it is the gateway's. */
  readonly aheadMs: number
}

/** A caller as they stood at a moment of this page's clock. */
export interface Looked {
  readonly apiKey: string | null
  readonly look: Look
  readonly at: number
}

/** `full`: so many pages are open that there is no room for this one. */
export type Connection = 'connecting' | 'connected' | 'lost' | { readonly full: number }

/**
 * Follows the gateway. `known` is undefined until it has answered. A page that nobody looks at does not: a browser has
 * six connections to a host, which as many tabs would use up, and the next would not even load.
 */
export function useStream(): { readonly known: Known | undefined; readonly connection: Connection } {
  const [known, setKnown] = useState<Known>()
  const [connection, setConnection] = useState<Connection>('connecting')
  const isSeen = useIsSeen()
  useEffect(() => {
    if (!isSeen) return
    const source = new EventSource('console/events')
    source.addEventListener('full', ({ data }) => setConnection({ full: (JSON.parse(data) as Full).most }))
    source.addEventListener('hello', ({ data }) => {
      const hello = JSON.parse(data) as Hello
      const { standing } = hello
      setKnown({ hello, standing, tallies: new Map(hello.tallies), aheadMs: standing.now - Date.now() })
      setConnection('connected')
    })
    source.addEventListener('tallies', ({ data }) => {
      setKnown((before) => {
        if (!before) return before
        const { tallies, aheadMs } = before
        for (const [second, counts] of JSON.parse(data) as Tally[]) tallies.set(second, counts)
        const from = (Date.now() + aheadMs) / 1000 - KEEP_SECONDS
        for (const second of tallies.keys()) if (second < from) tallies.delete(second)
        return before
      })
    })
    source.addEventListener('standing', ({ data }) => {
      const standing = JSON.parse(data) as Standing
      setKnown((before) => before && { ...before, standing, aheadMs: standing.now - Date.now() })
    })
    source.onerror = () =>
      setConnection((before) => (typeof before === 'object' || before === 'connecting' ? before : 'lost'))
    return () => source.close()
  }, [isSeen])
  return { known, connection }
}

function useIsSeen(): boolean {
  const [isSeen, setSeen] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const look = () => setSeen(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isSeen
}

/** Asks the gateway for something. @returns what is wrong where it refused. */
export async function post<T = object>(
  name: string,
  body: object,
): Promise<{ readonly ok: T; readonly wrong?: undefined } | { readonly ok?: undefined; readonly wrong: Wrong }> {
  try {
    const answer = await fetch(`console/${name}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    const said = await answer.json()
    if (answer.ok) return { ok: said as T }
    return { wrong: { field: said.field ?? '', message: said.message ?? `the gateway answered ${answer.status}` } }
  } catch {
    return { wrong: { field: '', message: 'the gateway does not answer: does it still run?' } }
  }
}
