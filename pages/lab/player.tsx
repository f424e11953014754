import { useEffect, useRef, useState } from 'preact/hooks'
import { spoken } from './model/explain'
import type { Run } from './model/run'
import { momentAfter, momentBefore } from './moments'
import type { Playhead } from './playhead'

interface Props {
  readonly run: Run
  readonly playhead: Playhead
  /** The moment that the words of the page are of. */
  readonly at: number
  readonly playing: boolean
  readonly onPlaying: (playing: boolean) => void
}

/** In how many seconds the whole traffic plays. */
const SPEEDS = { slow: 60, normal: 15, fast: 5 } as const
type Speed = keyof typeof SPEEDS

/** Play, pause, steps from request to request, and the moment as a slider. */
export function Player({ run, playhead, at, playing, onPlaying }: Props) {
  const [speed, setSpeed] = useState<Speed>('normal')
  const speedNow = useRef<Speed>(speed)
  speedNow.current = speed
  const { durationMs } = run

  useEffect(() => {
    if (!playing) return
    let before: number | undefined
    let frame = requestAnimationFrame(function next(now) {
      const passed = before === undefined ? 0 : ((now - before) / 1000 / SPEEDS[speedNow.current]) * durationMs
      before = now
      playhead.moveTo(Math.min(durationMs, playhead.at + passed), true)
      if (playhead.at >= durationMs) onPlaying(false)
      else frame = requestAnimationFrame(next)
    })
    return () => {
      cancelAnimationFrame(frame)
      playhead.moveTo(playhead.at)
    }
  }, [playing, run, playhead])

  const play = () => {
    if (!playing && playhead.at >= durationMs) playhead.moveTo(0)
    onPlaying(!playing)
  }
  const go = (moment: number) => {
    onPlaying(false)
    playhead.moveTo(moment)
  }
  const stepsFrom = () => (!playing && playhead.at >= durationMs ? -1 : playhead.at) // from the end, it begins anew
  return (
    <fieldset class="player" aria-label="Play">
      <button type="button" class="main" onClick={play}>
        {playing ? 'Pause' : 'Play'}
      </button>
      <button type="button" onClick={() => go(momentBefore(run, playhead.at))} disabled={at <= 0}>
        Step back
      </button>
      <button type="button" onClick={() => go(momentAfter(run, stepsFrom()))}>
        Step
      </button>
      <input
        type="range"
        class="moment"
        aria-label="Moment"
        aria-valuetext={`${spoken(at)} of ${spoken(durationMs)}`}
        min={0}
        max={durationMs}
        step={Math.max(1, Math.floor(durationMs / 1000))}
        value={at}
        onInput={({ currentTarget }) => go(Number(currentTarget.value))}
      />
      <output class="clock">
        {spoken(at)} of {spoken(durationMs)}
      </output>
      <label class="speed">
        Speed{' '}
        <select value={speed} onChange={({ currentTarget }) => setSpeed(currentTarget.value as Speed)}>
          {(Object.keys(SPEEDS) as Speed[]).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  )
}
