import type { Sender, Target } from './logged-request'

/** How many are shared; a log with an id in each path has as many targets as lines. */
const MAX_REQUESTS = 400_000
/** Characters of those that are shared: who sends a long path each time must not fill the memory. */
const MAX_CHARACTERS = 40_000_000
/** Of one name. */
const MAX_ALIKE = 16

interface Link<T> {
  readonly one: T
  readonly next: Link<T> | undefined
  readonly length: number
}

/**
 * Gives what is equal one object, so that requests which wait for their turn hold no text of their own, and what is
 * worked out of it is worked out once.
 */
export class Shared<T extends object> {
  private readonly byName = new Map<string, Link<T>>()
  private count = 0
  private characters = 0

  /**
   * @param nameOf a part of it that few others have.
   * @param copyOf the same with texts of its own: one that was cut out of a piece of a log keeps the whole piece.
   */
  constructor(
    private readonly nameOf: (one: T) => string,
    private readonly isSame: (one: T, other: T) => boolean,
    private readonly copyOf: (one: T) => T,
  ) {}

  /** The one that is equal to this one. */
  of(one: T): T {
    const alike = this.byName.get(this.nameOf(one))
    for (let link = alike; link; link = link.next) if (this.isSame(link.one, one)) return link.one
    return this.added(this.copyOf(one), alike)
  }

  private added(one: T, alike: Link<T> | undefined): T {
    if (this.count++ >= MAX_REQUESTS || this.characters >= MAX_CHARACTERS) {
      this.byName.clear()
      this.count = 0
      this.characters = 0
    }
    for (const text of Object.values(one)) if (typeof text === 'string') this.characters += text.length
    const next = alike && alike.length < MAX_ALIKE ? alike : undefined
    this.byName.set(this.nameOf(one), { one, next, length: 1 + (next?.length ?? 0) })
    return one
  }
}

const own = <T extends string | undefined>(text: T): T =>
  text === undefined ? text : (JSON.parse(JSON.stringify(text)) as T)

export const sharedSenders = (): Shared<Sender> =>
  new Shared(
    ({ subject, client, key, user, ip }) => subject ?? client ?? key ?? user ?? ip ?? '',
    (one, other) =>
      one.ip === other.ip &&
      one.tier === other.tier &&
      one.subject === other.subject &&
      one.client === other.client &&
      one.user === other.user &&
      one.key === other.key,
    ({ subject, client, user, key, ip, tier }) => ({
      subject: own(subject),
      client: own(client),
      user: own(user),
      key: own(key),
      ip: own(ip),
      tier: own(tier),
      known: undefined,
    }),
  )

export const sharedTargets = (): Shared<Target> =>
  new Shared(
    ({ path, resource }) => path ?? resource ?? '',
    (one, other) =>
      one.method === other.method &&
      one.resource === other.resource &&
      one.stage === other.stage &&
      one.apiId === other.apiId &&
      one.domain === other.domain &&
      one.path === other.path &&
      one.eventType === other.eventType,
    ({ method, path, resource, apiId, stage, domain, eventType }) => ({
      method: own(method),
      path: own(path),
      resource: own(resource),
      apiId: own(apiId),
      stage: own(stage),
      domain: own(domain),
      eventType: own(eventType),
      known: undefined,
    }),
  )
