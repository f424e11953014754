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

/** How fast `sluice simulate` reads and decides a log, and how much memory it takes of very many callers. */
export const simulate: Part = {
  title: 'sluice simulate: an access log, and a tier of three policies',

  async run({ quick }) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    try {
      const child = built(join(folder, 'simulate.js'))
      const few = replayed(folder, child, quick ? 20_000 : 2_000_000, 1000)
      const many = replayed(folder, child, quick ? 20_000 : 10_000_000, quick ? 5000 : 100_000)
      return {
        figures: [
          toFigure(`lines read and decided, by second of one core, of ${shown(few.callers)} callers`, {
            measured: few.requests / few.cpuSeconds,
            unit: 'lines/s',
            goal: { atLeast: 60_000 },
          }),
          toFigure(`the same, of ${shown(many.callers)} callers`, {
            measured: many.requests / many.cpuSeconds,
            unit: 'lines/s',
          }),
          toFigure(`memory of the process, of ${shown(many.callers)} callers`, {
            measured: many.megabytes,
            unit: 'MB',
            goal: { atMost: 1000 },
          }),
        ],
        details: [few, many].map(
          ({ requests, callers, cpuSeconds }) =>
            `${shown(requests)} lines of ${shown(callers)} callers: ${Math.round(cpuSeconds)} s of processor time, garbage collection included.`,
        ),
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

const shown = (count: number): string => count.toLocaleString('en-US')

function replayed(folder: string, child: string, lines: number, callers: number): Measured & { callers: number } {
  const file = join(folder, 'access.jsonl')
  writeAccessLog(file, lines, callers)
  const args = ['--max-old-space-size=900', child, file]
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 20 })
  const measured = JSON.parse(printed) as Measured
  if (measured.requests !== lines) throw new Error(`${measured.requests} of ${lines} lines were decided`)
  return { ...measured, callers }
}

/** Compiled, as the package is published. */
function built(outfile: string): string {
  buildSync({ entryPoints: [CHILD], bundle: true, platform: 'node', target: 'node20', outfile, logLevel: 'error' })
  return outfile
}
