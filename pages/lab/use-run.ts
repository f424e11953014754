import { useEffect, useRef, useState } from 'preact/hooks'
import type { Asked, Told } from './messages'
import type { Explanation } from './model/explain'
import type { Run } from './model/run'
import type { Setting } from './model/setting'

/** What the worker has made of a setting so far. */
export interface Runs {
  /** The newest finished run; the one before while another is under way. */
  readonly run?: Run
  /** The share that is done of the one that is under way, from 0 to 1. */
  readonly share?: number
  readonly failure?: string
  readonly explanations: readonly Explanation[]
  /** Asks why, for a request of each row. */
  readonly askWhy: (indexes: readonly number[]) => void
}

/** Runs each setting in a worker. A setting that comes while another runs takes its place. */
export function useRun(setting: Setting): Runs {
  const [run, setRun] = useState<Run>()
  const [share, setShare] = useState<number | undefined>(0)
  const [failure, setFailure] = useState<string>()
  const [explanations, setExplanations] = useState<readonly Explanation[]>([])
  const worker = useRef<Worker>(undefined)
  const busy = useRef(false)
  const newestId = useRef(0)

  useEffect(() => {
    if (busy.current) worker.current?.terminate()
    if (busy.current || !worker.current) worker.current = new Worker('lab-worker.js')
    busy.current = true
    worker.current.onerror = () => setFailure('the worker did not start: reload the page')
    worker.current.onmessage = ({ data }: MessageEvent<Told>) => {
      if (data.kind === 'progress') return setShare(data.share)
      if (data.kind === 'explained') return void (data.id === newestId.current && setExplanations(data.explanations))
      busy.current = false
      setShare(undefined)
      if (data.kind === 'failed') return setFailure(data.message)
      setFailure(undefined)
      setRun(data.run)
    }
    setShare(0)
    worker.current.postMessage({ kind: 'run', setting } satisfies Asked)
  }, [setting])

  const askWhy = (indexes: readonly number[]) => {
    if (!run || busy.current) return
    newestId.current++
    worker.current?.postMessage({
      kind: 'explain',
      id: newestId.current,
      setting: run.setting,
      indexes,
    } satisfies Asked)
  }
  return { run, share, failure, explanations, askWhy }
}
