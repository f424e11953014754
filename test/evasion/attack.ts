import type { Api } from '../../lambda/config-table/items/scopes'
import type { Gateway } from '../authorize/gateway'

/** What a client sends. */
export interface Sent {
  /** @default 'GET' */
  readonly method?: string
  /** As it is sent, in any spelling. */
  readonly path: string
  /** `X-Forwarded-For`: the address that is counted, as the client makes it up. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What is around an authorizer, where that is what the attack is on. */
export interface World {
  readonly parts: Omit<NonNullable<ConstructorParameters<typeof Gateway>[0]>, 'access'>
  /** What is counted, where that is not requests that pass. */
  readonly counted?: () => number
}

/** Somebody who wants requests past the limit. */
export interface Attack {
  readonly about: About
  /** What was tried, in a few words. */
  readonly tried: string
  /** @default 'rest' */
  readonly api?: 'rest' | 'http' | 'websocket'
  /** What is sent; where each request is another, what is sent as the nth. */
  readonly sends: Sent | ((n: number) => Sent)
  /** How often. @default 30 */
  readonly times?: number
  /** How far apart, in milliseconds. @default at once */
  readonly everyMs?: number
  /** How many pass. */
  readonly passes: number
  /** What is counted in place of requests that pass. */
  readonly counts?: string
  /** Why. */
  readonly now: string
  /** The route of an HTTP API that it is on, where that is not `$default`. */
  readonly route?: string
  /**
   * What only the event of a deployed API has, such as a custom domain: such an attack is not made by HTTP on this
   * machine.
   */
  readonly event?: (event: Record<string, unknown>) => Record<string, unknown>
  /** Tables that fail, items that are invalid, issuers of tokens: such an attack is made on the authorizer alone. */
  readonly world?: () => World
  /** Whether it comes from an address that is blocked. @default from one of its own */
  readonly blocked?: boolean
  /** A tiers file of its own, which is not the one that requests by HTTP are held to. @default RULES */
  readonly rules?: object
  /** What the config table calls APIs. @default nothing */
  readonly apis?: readonly Api[]
}

const ABOUT = [
  'Methods',
  'Spellings of a path',
  'What API Gateway knows better',
  'APIs and stages of one limiter',
  'Addresses and names',
  'Credentials',
  'Costs that a request says',
  'Costs known afterwards, and what runs',
  'Doors that open when unsure',
  'Events',
] as const
export type About = (typeof ABOUT)[number]
export const TOPICS: readonly About[] = ABOUT

/** Why an attack cannot be made by HTTP on an API with the rules of all others; nothing where it can. */
export function onlyInProcess({ api = 'rest', event, world, rules }: Attack): string | undefined {
  if (world) return 'it needs tables that fail, items that are invalid or an issuer of tokens'
  if (event) return 'it needs routes or a custom domain that this API does not have'
  if (rules) return 'it needs rules of its own'
  return api === 'websocket' ? 'it needs a WebSocket API' : undefined
}
