import { useEffect, useRef, useState } from 'preact/hooks'
import { Break } from './break'
import { Change } from './change'
import { Counters } from './counters'
import { Fire } from './fire'
import { Gauges } from './gauges'
import { Inside } from './inside'
import type { Look } from './protocol'
import { type Connection, type Known, type Looked, post, useStream } from './stream'
import { Timeline } from './timeline'
import { Verdict } from './verdict'

/** A look at a caller is taken at most so often. */
const LOOK_EVERY_MS = 250
const LOOK_AGAIN_MS = 1500

export function App() {
  const { known, connection } = useStream()
  return (
    <>
      <header class="top">
        <h1>Sluice: the console</h1>
        {known && (
          <p class="soft about">
            Real requests to <code>{known.hello.url}</code>, the authorizer that Lambda would run, a real DynamoDB
            engine.
          </p>
        )}
        <nav>
          <a href="lab">Compare the algorithms in the lab</a>
        </nav>
        <p class="status" role="status">
          {connectionText(connection)}
        </p>
      </header>
      {known && <Console known={known} />}
    </>
  )
}

function connectionText(connection: Connection): string {
  if (typeof connection === 'object')
    return `○ ${connection.full} other windows show the console, as many as may at once: close or hide one`
  return { connected: '● connected', connecting: '○ connecting', lost: '○ the gateway is gone: trying again' }[
    connection
  ]
}

function Console({ known }: { readonly known: Known }) {
  const { hello, standing } = known
  const [apiKey, setApiKey] = useState<string | null>(null)
  const [route, setRoute] = useState(hello.samples[0]!.route)
  const [actedAt, setActedAt] = useState(0)
  const { looked, wrong, lookAgain } = useLook(apiKey, route, standing.requests)
  const look = looked?.look
  const lastLooked = useRef<Looked | undefined>(undefined)
  if (looked && looked.apiKey === standing.last?.apiKey) lastLooked.current = looked
  return (
    <main>
      <div class="left">
        <Fire known={known} apiKey={apiKey} setApiKey={setApiKey} route={route} setRoute={setRoute} />
        <Break known={known} withoutTable={look?.withoutTable} />
      </div>
      <div class="middle">
        <Verdict
          standing={standing}
          look={lastLooked.current?.apiKey === standing.last?.apiKey ? lastLooked.current?.look : undefined}
          callers={hello.callers}
          aheadMs={known.aheadMs}
          changedAt={Math.max(actedAt, standing.change?.inForceAt ?? 0)}
        />
        <Gauges
          looked={looked}
          wrong={wrong}
          isAway={standing.trouble === 'down' || standing.trouble === 'throttled'}
        />
        <Timeline known={known} />
        <Counters standing={standing} />
        <Change
          known={known}
          apiKey={apiKey}
          look={look}
          changed={() => {
            setActedAt(Date.now() + known.aheadMs)
            lookAgain()
          }}
        />
        <Inside known={known} looked={looked} apiKey={apiKey} route={route} />
      </div>
    </main>
  )
}

/** How the caller stands, looked at anew when there were requests, and now and then. */
function useLook(apiKey: string | null, route: string, requests: number) {
  const [looked, setLooked] = useState<Looked>()
  const [wrong, setWrong] = useState<string>()
  const [asked, setAsked] = useState(0)
  const state = useRef({ isAsking: false, again: false, apiKey, route })
  Object.assign(state.current, { apiKey, route })
  const lookAgain = () => setAsked((n) => n + 1)
  useEffect(() => {
    const { current } = state
    const ask = async () => {
      if (current.isAsking) {
        current.again = true
        return
      }
      current.isAsking = true
      do {
        current.again = false
        const of = { apiKey: current.apiKey, route: current.route }
        const { ok, wrong } = await post<Look>('look', of)
        if (of.apiKey === current.apiKey && of.route === current.route) {
          setWrong(wrong?.message)
          setLooked(ok && { look: ok, apiKey: of.apiKey, at: Date.now() })
        } else current.again = true
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
      } while (current.again)
      current.isAsking = false
    }
    void ask()
  }, [apiKey, route, requests, asked])
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && lookAgain(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [])
  return { looked, wrong, lookAgain }
}
