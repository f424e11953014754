import { rowsOf } from './rows'
import { type RowRun, runRow } from './run-row'
import { scenarioOf } from './scenarios'
import type { Setting } from './setting'

/** One stream of traffic through every algorithm. */
export interface Run {
  readonly setting: Setting
  readonly durationMs: number
  readonly windowMs: number
  readonly rows: readonly RowRun[]
}

/**
 * Sends a setting's traffic through every algorithm.
 *
 * @param onProgress is told the share that is done, from 0 to 1.
 */
export function run(setting: Setting, onProgress: (share: number) => void = () => {}): Run {
  const traffic = scenarioOf(setting).traffic(setting)
  const windowMs = setting.window * 1000
  const rows = rowsOf(setting)
  let requests = 0
  const runs = rows.map((row, i) => {
    requests = 0
    return runRow(row, traffic, { limit: setting.limit, windowMs }, (more) => {
      requests += more
      onProgress((i + Math.min(1, requests / traffic.times.length)) / rows.length)
    })
  })
  onProgress(1)
  return { setting, durationMs: traffic.durationMs, windowMs, rows: runs }
}
