import { hostname, userInfo } from 'node:os'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type AuditedChange, AuditTrail, newChangeId } from '../../provisioning/audit-trail'
import { signedCall } from '../facade/tables'
import type { Clock } from '../facade/values'
import type { Io } from '../terminal/io'

/** A command does not wait longer to know whose credentials it has. */
const DEADLINE_MS = 3000

/** One run of a command, as the records of its changes say it. */
export interface RecordedRun extends Pick<AuditedChange, 'change' | 'how'> {
  readonly clock: Clock
}

/** A run of something that is no command. */
export const unnamedRun = (): RecordedRun => ({ change: newChangeId(), how: 'sluice', clock: Date.now })

/** The audit trail of a run, by its name when it writes. STS is asked once, and only by what writes. */
export function trailOf(
  run: RecordedRun,
  client: DynamoDBClient,
  endpoint: string | undefined,
  env: Io['env'],
): AuditTrail {
  let author: Promise<string> | undefined
  return new AuditTrail(async () => {
    author ??= authorOf(client, endpoint, env)
    return { change: run.change, how: run.how, by: await author }
  }, run.clock)
}

/**
 * Who makes changes: the ARN that STS knows the credentials by, else the user of this system as `alice@laptop`. A
 * DynamoDB of one's own has no callers, so there it is always the user.
 *
 * @param endpoint of DynamoDB; `undefined`: the Region's own.
 */
async function authorOf(client: DynamoDBClient, endpoint: string | undefined, env: Io['env']): Promise<string> {
  if (endpoint !== undefined) return systemUser()
  // Whatever fails here must not keep anybody from turning the limits off.
  const asked = callerArn(client, env).catch(() => undefined)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), DEADLINE_MS)
  })
  const arn = await Promise.race([asked, late])
  clearTimeout(timer)
  return arn ?? `${systemUser()} (STS did not say whose credentials these are)`
}

/** The ARN that STS knows a client's credentials by. Every caller may ask for it, without a right to. */
export async function callerArn(client: DynamoDBClient, env: Io['env']): Promise<string | undefined> {
  const { status, text } = await signedCall(client, {
    service: 'sts',
    endpoint: env.AWS_ENDPOINT_URL_STS || env.AWS_ENDPOINT_URL || undefined,
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: 'Action=GetCallerIdentity&Version=2011-06-15',
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  const [, arn] = /<Arn>(arn:[\x21-\x7e]{1,2000}?)<\/Arn>/.exec(text) ?? []
  return status === 200 ? arn : undefined
}

function systemUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return `somebody@${hostname()}` // a user without a name, as in some containers
  }
}
