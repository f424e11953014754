import type { Dimension } from '../lambda/config-table/items/dimension'
import type { ConcurrencyInput, Duration, PolicyInput } from '../limiter/policies/policy'

/** Whom a policy counts: one or several of these, such as `['client', 'route']`. docs/identity.md describes each. */
export type CountedByProp = Dimension | 'route' | readonly (Dimension | 'route')[]

interface TierPolicyExtras {
  /** @default `per-` and the window, such as `per-1m`, after the name of its `cost`; `running` */
  readonly name?: string | undefined
  /** @default that of the tier, the route or the global policies */
  readonly by?: CountedByProp | undefined
}

/** A policy on requests in a time window, as in a tiers file. docs/config-table.md describes each field. */
export interface WindowPolicyProps
  extends TierPolicyExtras,
    Omit<PolicyInput, 'name' | 'window' | 'maxDelay' | 'blockFor'> {
  readonly window: Duration | 'day' | 'week' | 'month' | 'year'
  readonly maxDelay?: Duration | undefined
  readonly blockFor?: Duration | undefined
  /** Whether, and for how long at most, units are reserved until the backend reports its use. @default false */
  readonly settle?: boolean | Duration | undefined
}

/** A policy on concurrent requests, as in a tiers file. */
export interface RunningPolicyProps extends TierPolicyExtras, Pick<ConcurrencyInput, 'algorithm' | 'limit' | 'action'> {
  readonly timeout: Duration
}

/** A policy of a tier. */
export type TierPolicyProps = WindowPolicyProps | RunningPolicyProps
/** A policy of a route, or of every request. */
export type SharedPolicyProps = TierPolicyProps & {
  /** The tiers to whose callers it applies. @default all */
  readonly tiers?: readonly string[] | undefined
}

/** The limits of one kind of caller. */
export interface TierProps {
  readonly policies: readonly TierPolicyProps[]
  /** Whom its policies count. @default 'client' */
  readonly by?: CountedByProp
  /** @default 'optional' */
  readonly credentials?: 'required' | 'optional'
  /** What happens to its requests while the state table is unavailable. @default the function's */
  readonly failureMode?: 'local' | 'allow' | 'deny'
  /**
   * Each caller's part of policies that are `fair`: with 2, twice as much as one of a tier with 1. An integer up to
   * 1000. @default 1
   */
  readonly weight?: number
  /** The APIs to which it applies, if its name ends in `@` and a word. @default all */
  readonly apis?: readonly string[]
}

/** Units that a request takes: always the same, or by a value of the request. */
export type CostProp =
  | number
  | ({
      readonly default?: number
      readonly max: number
      /**
       * The cost of a value without a number above 0, such as `all`, and of a body of unknown length. @default `max`
       */
      readonly unbounded?: number
      readonly divide?: number
      readonly roundUp?: boolean
    } & (
      | { readonly query: string }
      | { readonly header: string }
      | { readonly path: string }
      | { readonly claim: string }
    ))

/** Rules for the requests of one route. */
export interface RouteProps extends Omit<TierProps, 'policies' | 'failureMode' | 'weight'> {
  readonly policies?: readonly SharedPolicyProps[]
  /** @default 1 */
  readonly cost?: CostProp
  /** The cost for policies that count another cost, by its name. @default 1 each */
  readonly costs?: Readonly<Record<string, CostProp>>
  /** @default false */
  readonly settle?: boolean | Duration
}

/** Tiers and routes in the code of an app, in place of a tiers file. */
export interface TiersInCode {
  /**
   * Tiers by name, in place of `tiersFile`: `{ anonymous: { by: 'ip', policies: [{ limit: 20, window: '1m' }] } }`. A
   * mistake in them fails the synth.
   *
   * @default those of `tiersFile`
   */
  readonly tiers?: Readonly<Record<string, TierProps>> | undefined
  /** Rules by method and path, such as `GET /search`; beside `tiers` only. @default none */
  readonly routes?: Readonly<Record<string, RouteProps>> | undefined
  /** Policies of every request; beside `tiers` only. @default none */
  readonly global?:
    | { readonly policies: readonly SharedPolicyProps[]; readonly by?: CountedByProp | undefined }
    | undefined
  /** Settings as in a tiers file; beside `tiers` only. @default see docs/config-table.md */
  readonly settings?: Readonly<Record<string, unknown>> | undefined
}
