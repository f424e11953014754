import { StartError } from '../start-error'

/** The route key of a message, by its body. */
export type SelectRoute = (body: string) => string

const DEFAULT = '$default'

/**
 * Chooses the route of a message as API Gateway does: the value of the expression in the body, if the API has such a
 * route, otherwise `$default`.
 *
 * @param expression `$request.body.action`, or a path of more names.
 * @param routes the API's own route keys.
 * @throws StartError for an invalid expression.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/websocket-api-develop-routes.html
 */
export function routeSelection(expression: string, routes: readonly string[]): SelectRoute {
  const [, path] = /^\$\{?request\.body\.([\w-]+(?:\.[\w-]+)*)\}?$/.exec(expression) ?? []
  if (path === undefined)
    throw new StartError(`--route-selection must look like "$request.body.action", got "${expression}"`)
  const names = path.split('.')
  const known = new Set(routes)
  return (body) => {
    const key = found(body, names)
    return key !== undefined && known.has(key) ? key : DEFAULT
  }
}

function found(body: string, names: readonly string[]): string | undefined {
  try {
    let value: unknown = JSON.parse(body)
    for (const name of names) value = Object.hasOwn(Object(value), name) ? (value as never)[name] : undefined
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  } catch {
    return undefined
  }
}
