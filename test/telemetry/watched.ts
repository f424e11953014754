import { makeTelemetry, type TelemetryOptions } from '../../lambda/telemetry/telemetry'
import { RateLimiter } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { Gateway } from '../authorize/gateway'
import { FakeClock } from '../config-table/fake-table'

/** What telemetry writes, on a clock that stands still. */
export function watched(options: Partial<TelemetryOptions> = {}) {
  const clock = new FakeClock()
  const lines: string[] = []
  const telemetry = makeTelemetry({ write: (line) => lines.push(line), clock: clock.read, ...options })
  const entries = (): Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line)).filter((entry) => 'message' in entry)
  return { clock, lines, telemetry, entries }
}

/** A whole authorizer whose telemetry is written down, put together as handler.ts does it. */
export function watchedGateway(
  options: Partial<TelemetryOptions> = {},
  {
    store = new MemoryStore(),
    onStoreError = 'local',
    ...parts
  }: Exclude<ConstructorParameters<typeof Gateway>[0], undefined> = {},
) {
  const { clock, lines, telemetry, entries } = watched(options)
  const limiter = new RateLimiter({ store, clock: clock.read, onStoreError, onEvent: telemetry.onEvent })
  const gateway = new Gateway({ limiter, clock: clock.read, telemetry, log: telemetry.log, onStoreError, ...parts })
  return { clock, lines, entries, gateway }
}
