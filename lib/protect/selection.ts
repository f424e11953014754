import type { IConstruct } from 'constructs'
import { ConfigError, Mistake, printed } from '../../limiter/errors'
import { type AnyRoute, isPreflight } from './route-name'

/** Which methods or routes of an API stay as they are, the same for REST and HTTP APIs. */
export interface SelectionOptions {
  /**
   * Whether methods and routes that have an authorizer of another kind, such as `AWS_IAM` or a Cognito user pool, are
   * left unchanged: checked by that and not limited. The synth prints which, and the template's metadata of the
   * authorizer lists them.
   * @default false: such a method or route is an error
   */
  readonly skipAuthorized?: boolean | undefined
  /**
   * Methods and routes that are not limited, by method and path: `GET /health`, `ANY /{proxy+}`, and `$default` on HTTP
   * APIs. The synth prints them, and the template's metadata of the authorizer lists them. A name that no method or
   * route of the API has is an error.
   * @default none
   */
  readonly except?: readonly string[] | undefined
}

/** A route that stays as it is, and why. */
export interface Skipped {
  readonly route: string
  /** `except`, or the type of its own authorizer, such as `AWS_IAM`. */
  readonly because: string
}

/** What happens to a route: it is protected, skipped on purpose, not selected, or an obstacle. */
export type Choice = 'protect' | 'ignore' | { readonly skip: string } | { readonly authorized: string }

/** Why a method or route is an obstacle: the check of its own authorizer would be lost. */
export const alreadyAuthorized = (noun: string, authorization: string, way: string): string =>
  `protect() found a ${noun} that already has authorization ${authorization}, and a ${noun} can have only one${way}`

export const LEAVE_OR_VERIFY =
  ': leave it as it is by `except` or `skipAuthorized`, or let Sluice verify its tokens and take the other authorizer off'

/** The prop that names the routes to protect, and its value. */
export interface OnlyRoutes {
  readonly prop: 'methods' | 'routes'
  readonly routes?: readonly IConstruct[]
}

/** @throws ConfigError for options that exclude each other; then nothing is created. */
export function checkSelection(api: IConstruct, { prop, routes }: OnlyRoutes, { except }: SelectionOptions): void {
  if (routes && except)
    throw new ConfigError([
      new Mistake('fields_conflict', `${prop} and except exclude each other, got both (${api.node.path})`),
    ])
}

/** A route as far as it says who authorizes it. */
type Authorized = Pick<AnyRoute, 'authorizationType'>

/** Decides which routes of an API are protected, one by one as they are found. */
export class Selection {
  private readonly except: ReadonlySet<string>
  private readonly names = new Set<string>()

  constructor(
    private readonly only: OnlyRoutes,
    private readonly options: SelectionOptions,
  ) {
    this.except = new Set(options.except)
  }

  /** @param name of the route, see `routeName`. */
  choose(route: Authorized, name: string): Choice {
    this.names.add(name)
    if (isPreflight(name)) return 'ignore'
    if (
      this.only.routes &&
      !this.only.routes.some(({ node }) => (node.defaultChild as Authorized | undefined) === route)
    )
      return 'ignore'
    if (this.except.has(name)) return { skip: 'except' }
    const { authorizationType = 'NONE' } = route
    if (authorizationType === 'NONE') return 'protect'
    return this.options.skipAuthorized ? { skip: authorizationType } : { authorized: authorizationType }
  }

  /** Whether a route that another stack adds is left out on purpose. */
  excepts(name: string): boolean {
    this.names.add(name)
    return this.except.has(name) || isPreflight(name)
  }

  /** Names in `except` that no route has, a sentence each. */
  mistakes(): string[] {
    const known = [...this.names].sort()
    const some = `${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}`
    return [...this.except]
      .filter((name) => !this.names.has(name))
      .map((name) => `except must name methods or routes of the API, got ${printed(name)}, wanted one of: ${some}`)
  }
}
