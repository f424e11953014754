import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { writeAccessLog } from '../access-log'
import { toFigure } from '../figure'
import type { Part } from '../part'

const CHILD = join(__dirname, '../children/simulate.ts')

interface Measured {
  readonly requests: number
  readonly cpuSeconds: number
  readonly megabytes: number
}

/** How fast `sluice simulate` reads and decides a log, and how much memory it takes. */
export const simulate: Part = {
  title: 'sluice simulate: an access log, and a tier of three policies',

  async run({ quick }) {
    const [lines, callers] = quick ? [20_000, 1000] : [10_000_000, 100_000]
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    try {
      const file = join(folder, 'access.jsonl')
      writeAccessLog(file, lines, callers)
      const args = ['--max-old-space-size=900', built(join(folder, 'simulate.js')), file]
      const { requests, cpuSeconds, megabytes } = JSON.parse(
        execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 20 }),
      ) as Measured
      if (requests !== lines) throw new Error(`${requests} of ${lines} lines were decided`)
      return {
        figures: [
          toFigure('lines read and decided, by second of one core', {
            measured: requests / cpuSeconds,
            unit: 'lines/s',
            goal: { atLeast: 60_000 },
          }),
          toFigure('memory of the process', { measured: megabytes, unit: 'MB', goal: { atMost: 1000 } }),
        ],
        details: [
          `${lines.toLocaleString('en-US')} lines of ${callers.toLocaleString('en-US')} callers, ${Math.round(cpuSeconds)} s of processor time, garbage collection included.`,
        ],
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Compiled, as the package is published. */
function built(outfile: string): string {
  buildSync({ entryPoints: [CHILD], bundle: true, platform: 'node', target: 'node20', outfile, logLevel: 'error' })
  return outfile
}
