import { useEffect, useMemo, useState } from 'preact/hooks'
import { CopyButton } from '../shared/copy-button'
import { Controls } from './controls'
import { LabRow } from './lab-row'
import { fromLink, toLink } from './link'
import { figureTexts, MEANINGS } from './model/figure-texts'
import { highestOf } from './model/line'
import type { Setting } from './model/setting'
import { explainedAt } from './moments'
import { Player } from './player'
import { Playhead } from './playhead'
import { useRun } from './use-run'

/** How often the words of the page follow the picture while it plays, in milliseconds. */
const WORDS_EVERY_MS = 100

export function Lab() {
  const [{ setting, mistakes }, setLinked] = useState(() => fromLink(location.hash.slice(1)))
  const { run, share, failure, explanations, askWhy } = useRun(setting)
  const playhead = useMemo(() => new Playhead(), [])
  const [at, setAt] = useState(0)
  const [playing, setPlaying] = useState(false)

  useEffect(() => {
    const follow = () => setLinked(fromLink(location.hash.slice(1)))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const change = (changed: Setting) => {
    history.replaceState(null, '', `#${toLink(changed)}`)
    setLinked({ setting: changed, mistakes: [] })
  }

  useEffect(() => {
    let last = 0
    return playhead.subscribe((moment) => {
      const now = performance.now()
      if (playing && now - last < WORDS_EVERY_MS && moment < (run?.durationMs ?? 0)) return
      last = now
      setAt(moment)
    })
  }, [playing, run])
  useEffect(() => setAt(playhead.at), [playing])
  useEffect(() => {
    setPlaying(false)
    if (!run) return
    playhead.moveTo(run.durationMs)
    setAt(run.durationMs)
  }, [run])

  const indexes = useMemo(() => (run ? explainedAt(run, at) : []), [run, at])
  useEffect(() => {
    if (run && !playing) askWhy(indexes)
  }, [run, indexes, playing])
  const highest = useMemo(() => (run ? highestOf(run) : 0), [run])
  const point = (moment: number) => {
    setPlaying(false)
    playhead.moveTo(moment)
  }

  return (
    <main aria-busy={share !== undefined}>
      <header class="top">
        <h1>Choose an algorithm</h1>
        <p>
          The same requests go through every algorithm of Sluice, in virtual time, by the code that decides in Lambda.
          Pick the traffic that you expect, and compare the rows.
        </p>
        {location.pathname.startsWith('/_local/') && (
          <nav aria-label="Pages">
            <a href="./">Console</a>
          </nav>
        )}
      </header>
      {mistakes.length > 0 && (
        <div class="panel mistakes" role="alert">
          <p>This link is not all right; what is wrong in it has its default:</p>
          <ul>
            {mistakes.map((mistake) => (
              <li key={mistake}>{mistake}</li>
            ))}
          </ul>
        </div>
      )}
      <Controls setting={setting} onChange={change} />
      {failure && (
        <p class="panel wrong" role="alert">
          The lab failed: {failure}
        </p>
      )}
      <div class="progress">{share !== undefined && <progress aria-label="Simulating" max={1} value={share} />}</div>
      {run && (
        <>
          <div class="panel bar">
            <Player run={run} playhead={playhead} at={at} playing={playing} onPlaying={setPlaying} />
            <CopyButton words="Copy link" />
            <p class="legend">
              <span class="tick good">▏ allowed</span> <span class="cross bad">✕ denied</span>{' '}
              <span>— requests in the last window</span> <span class="limit">┄ the limit</span>{' '}
              <span class="bad">▥ over it</span> <span>Click a picture to see why, at that moment.</span>
            </p>
          </div>
          <details class="meanings">
            <summary>What the numbers mean</summary>
            <dl>
              {figureTexts(run.rows[0]!.figures, setting.limit).map(({ id, label }) => (
                <div key={id}>
                  <dt>{label}</dt>
                  <dd>{MEANINGS[id]}</dd>
                </div>
              ))}
            </dl>
          </details>
          <h2 class="hidden">The algorithms</h2>
          {run.rows.map((row, i) => (
            <LabRow
              key={row.algorithm}
              row={row}
              run={run}
              highest={highest}
              playhead={playhead}
              at={at}
              index={indexes[i] ?? -1}
              explanation={explanations.find(({ algorithm }) => algorithm === row.algorithm)}
              onPoint={point}
            />
          ))}
        </>
      )}
    </main>
  )
}
