import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../exit'

/** An IAM action and its resource. docs/attach.md lists all of them. */
export interface Right {
  readonly action: string
  readonly resource: string
}

/** Rights that these credentials do not have. */
export class MissingRights extends UserError {
  constructor(readonly rights: readonly Right[]) {
    const names = rights.map(({ action, resource }) => `${action} on ${resource}`)
    super(`missing ${names.length === 1 ? 'right' : 'rights'}: ${names.join(', ')}`)
  }
}

/**
 * Waits between attempts of a throttled call, in milliseconds: a minute and a half in total. API Gateway allows
 * CreateDeployment once in 5 s.
 */
const WAITS_MS = [1000, 2000, 5000, 5000, 10_000, 15_000, 20_000, 30_000] as const

const THROTTLED = /TooManyRequests|Throttling|RequestLimitExceeded/
const DENIED = /AccessDenied|^Forbidden/

/** Makes calls that may be throttled and that may be forbidden. */
export class Calls {
  /** @param tell gets a sentence when somebody has to wait. */
  constructor(
    private readonly tell: (text: string) => void = () => {},
    private readonly wait: (ms: number) => Promise<unknown> = sleep,
  ) {}

  /** @throws MissingRights */
  async make<T>(action: string, resource: string, send: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await send()
      } catch (error) {
        const { name, message } = error as Error
        if (DENIED.test(name)) throw new MissingRights([{ action, resource }])
        const waitMs = WAITS_MS[tries]
        // Someone else changing the same API is a conflict that passes, too.
        if (waitMs === undefined || !(THROTTLED.test(name) || /concurrent modification/i.test(message))) throw error
        this.tell(`${action} is throttled, trying again in ${waitMs / 1000} s`)
        await this.wait(waitMs)
      }
    }
  }
}

/** Runs several reads one after another, and reports all missing rights instead of the first. */
export async function readAll<T extends Readonly<Record<string, () => Promise<unknown>>>>(
  reads: T,
): Promise<{ [Name in keyof T]: Awaited<ReturnType<T[Name]>> }> {
  const found: Record<string, unknown> = {}
  const missing: Right[] = []
  for (const [name, read] of Object.entries(reads)) {
    try {
      found[name] = await read()
    } catch (error) {
      if (!(error instanceof MissingRights)) throw error
      missing.push(...error.rights)
    }
  }
  if (missing.length > 0) throw new MissingRights(missing)
  return found as never
}

/** Reads something that may be gone. */
export async function ifThere<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!/NotFound/.test((error as Error).name)) throw error
    return undefined
  }
}

/** Deletes something that may be deleted already. */
export async function unlessGone(work: () => Promise<unknown>): Promise<void> {
  await ifThere(work)
}

/**
 * Sets an authorization. If it has no authorizer, an empty id is sent, which AWS's documentation neither promises nor
 * forbids; if API Gateway rejects it, only the type is sent.
 */
export async function withOrWithoutId(
  authorizerId: string,
  withId: () => Promise<unknown>,
  without: () => Promise<unknown>,
): Promise<void> {
  try {
    await withId()
  } catch (error) {
    if (authorizerId !== '' || (error as Error).name !== 'BadRequestException') throw error
    await without()
  }
}
