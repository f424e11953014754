import type { PendingEdits } from './api-state'

interface ExportedRoute {
  /** Names of authorizers. */
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly 'x-amazon-apigateway-auth'?: { readonly type?: string }
}

/** What an OpenAPI export says of each route: as text to compare, and what authorizes it. */
export type ExportedRoutes = ReadonlyMap<string, { readonly text: string; readonly by: string | undefined }>

/** Reads the routes of an OpenAPI export. */
export function readExport(json: string): ExportedRoutes {
  const { paths = {} } = JSON.parse(json) as {
    paths?: Record<string, Record<string, ExportedRoute>>
  }
  return new Map(
    Object.entries(paths).flatMap(([path, verbs]) =>
      Object.entries(verbs).map(([verb, one]) => {
        const name = verb === 'x-amazon-apigateway-any-method' ? 'ANY' : verb.toUpperCase()
        return [
          path === '/$default' ? '$default' : `${name} ${path}`,
          { text: JSON.stringify(one), by: authorizedBy(one) },
        ] as const
      }),
    ),
  )
}

/** Compares the routes that a stage serves with those of the API's current state. */
export function compareExports(served: ExportedRoutes, latest: ExportedRoutes): Omit<PendingEdits, 'complete'> {
  const edits = [...new Set([...served.keys(), ...latest.keys()])].flatMap((route) => {
    if (!served.has(route)) return [`${route} is new`]
    if (!latest.has(route)) return [`${route} is deleted`]
    return served.get(route)?.text === latest.get(route)?.text ? [] : [`${route} changes`]
  })
  const both = [...latest].flatMap(([key, { by }]) =>
    served.has(key) ? [{ key, by, before: served.get(key)!.by }] : [],
  )
  return {
    edits,
    opens: both.flatMap(({ key, by, before }) =>
      by === undefined && before !== undefined ? [{ key, by: before }] : [],
    ),
    closes: both.flatMap(({ key, by, before }) => (by !== undefined && before === undefined ? [key] : [])),
  }
}

/** An authorizer's name, or `AWS_IAM`; `undefined` without authorization. */
function authorizedBy({ security = [], 'x-amazon-apigateway-auth': auth }: ExportedRoute): string | undefined {
  const type = auth?.type?.toUpperCase()
  return security.flatMap((one) => Object.keys(one))[0] ?? (type === 'NONE' ? undefined : type)
}
