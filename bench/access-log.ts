import { closeSync, openSync, writeSync } from 'node:fs'
import { seeded } from './random'

/** A tier of three policies, and a log of callers in it. */
export const ACCESS = {
  tiers: `
tiers:
  anonymous: { policies: [] }
  free:
    policies:
      - { name: per-minute, limit: 60, window: 1m }
      - { name: per-hour, limit: 1000, window: 1h }
      - { name: per-day, limit: 10000, window: 1d, algorithm: fixed-window }
`,
  start: Date.UTC(2027, 0, 1),
  perSecond: 1000,
} as const

/** Writes an access log as API Gateway writes it in the format of `accessLogFormat`, 460 bytes a line. */
export function writeAccessLog(file: string, lines: number, callers: number): void {
  const random = seeded(1)
  const output = openSync(file, 'w')
  try {
    for (let i = 0; i < lines; ) {
      let text = ''
      for (const end = Math.min(lines, i + 5000); i < end; i++)
        text += `${lineOf(i, Math.floor(random() * callers), random())}\n`
      writeSync(output, text)
    }
  } finally {
    closeSync(output)
  }
}

/** @param late how much later the request before it was logged, in seconds: lines are written when answers are. */
const lineOf = (i: number, caller: number, late: number): string =>
  JSON.stringify({
    time: String(ACCESS.start + Math.floor((i * 1000) / ACCESS.perSecond + late * 1000)),
    requestId: `0f0e0d0c-0b0a-4908-8706-${String(i).padStart(12, '0')}`,
    apiId: 'abcdef1234',
    stage: 'prod',
    domain: 'abcdef1234.execute-api.us-east-1.amazonaws.com',
    method: 'GET',
    path: `/prod/things/${i % 1000}`,
    resourcePath: '/things/{id}',
    routeKey: '-',
    eventType: '-',
    ip: `198.51.${(caller >> 8) & 255}.${caller & 255}`,
    status: '200',
    durationMs: '12',
    subject: `client#${String(caller).padStart(43, 'A')}`,
    tier: 'free',
    cost: '1',
    allowed: 'true',
    policy: 'per-minute',
    reason: 'ok',
  })
