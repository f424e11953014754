import { useEffect, useState } from 'preact/hooks'
import type { Dot, Hello, Look, Standing, Wrong } from './protocol'

const KEEP_MS = 125_000

/** What the page knows. `dots` is one list that grows, for what draws at its own pace. */
export interface Known {
  readonly hello: Hello
  readonly standing: Standing
  readonly dots: Dot[]
  /** Added to this clock it is the gateway's. */
  readonly aheadMs: number
}

/** A caller as they stood at a moment of this page's clock. */
export interface Looked {
  readonly look: Look
  readonly at: number
}

/** Follows the gateway. `undefined` until it has answered. */
export function useStream(): { readonly known: Known | undefined; readonly isConnected: boolean } {
  const [known, setKnown] = useState<Known>()
  const [isConnected, setConnected] = useState(false)
  useEffect(() => {
    const source = new EventSource('console/events')
    source.addEventListener('hello', ({ data }) => {
      const hello = JSON.parse(data) as Hello
      const { standing } = hello
      setKnown({ hello, standing, dots: [...hello.dots], aheadMs: standing.now - Date.now() })
      setConnected(true)
    })
    source.addEventListener('dots', ({ data }) => {
      setKnown((before) => {
        if (!before) return before
        before.dots.push(...(JSON.parse(data) as Dot[]))
        const from = Date.now() + before.aheadMs - KEEP_MS
        const first = before.dots.findIndex(([at]) => at >= from)
        before.dots.splice(0, first === -1 ? before.dots.length : first)
        return before
      })
    })
    source.addEventListener('standing', ({ data }) => {
      const standing = JSON.parse(data) as Standing
      setKnown((before) => before && { ...before, standing, aheadMs: standing.now - Date.now() })
    })
    source.onerror = () => setConnected(false)
    return () => source.close()
  }, [])
  return { known, isConnected }
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
