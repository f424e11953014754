import type { Io } from '../terminal/io'
import { duration } from '../terminal/output'
import type { LogStats } from './lines/read-log'

const EVERY_MS = 200
const WIDTH = 24

/** Shows on a terminal how far reading has come, and how long it will take. */
export class ProgressBar {
  private readonly startedAt = performance.now()
  private shownAt = 0
  private isShown = false

  constructor(
    private readonly stderr: Io['stderr'],
    private readonly stats: LogStats,
  ) {}

  /** Shows the present state, at most five times a second. */
  update(): void {
    const now = performance.now()
    if (this.stderr.isTTY !== true || now - this.shownAt < EVERY_MS) return
    this.shownAt = now
    this.isShown = true
    this.stderr.write(`\r\u001b[K${progressText(this.stats, now - this.startedAt)}`)
  }

  /** Removes what is shown. */
  end(): void {
    if (this.isShown) this.stderr.write('\r\u001b[K')
    this.isShown = false
  }
}

/** `[█████░░░░] 42 %  1,234,000 lines, 80,000 a second, about 20 s left`. */
function progressText({ bytes, total, lines }: LogStats, elapsedMs: number): string {
  const perSecond = Math.round(lines / Math.max(0.001, elapsedMs / 1000))
  const speed = `${lines.toLocaleString('en-US')} lines, ${perSecond.toLocaleString('en-US')} a second`
  if (!total) return speed
  const part = Math.min(1, bytes / total)
  const filled = Math.round(part * WIDTH)
  const leftMs = part > 0 ? (elapsedMs / part) * (1 - part) : 0
  const left = elapsedMs > 1000 && part < 1 ? `, about ${duration(leftMs)} left` : ''
  return `[${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}] ${Math.floor(part * 100)} %  ${speed}${left}`
}
