import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { reasonOf, StartError } from '../start-error'
import { CATCH_ALL, type Route } from './routes'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const

/** API Gateway's extension for all methods of a path, and its path for the route `$default`. */
const ANY_METHOD = 'x-amazon-apigateway-any-method'
const DEFAULT_PATH = '/$default'

/**
 * The methods of an OpenAPI 3 or Swagger 2 file, YAML or JSON. As on API Gateway, `servers` and `basePath` are not part
 * of a path.
 *
 * @throws StartError where the file cannot be read, is not OpenAPI, or has no method.
 */
export function readOpenApi(path: string): Route[] {
  const document = read(path)
  if (!isMap(document) || !('openapi' in document || 'swagger' in document))
    throw new StartError(`${path}: it must be an OpenAPI file, which has a field "openapi" or "swagger"`)
  const { paths } = document
  if (!isMap(paths)) throw new StartError(`${path}: it must have a field "paths" with paths by name`)
  const routes = Object.entries(paths).flatMap(([resource, item]) => routesOf(resource, item, path))
  if (routes.length === 0) throw new StartError(`${path}: no path has a method`)
  return routes
}

function routesOf(resource: string, item: unknown, path: string): Route[] {
  if (resource.startsWith('x-')) return []
  if (!isMap(item)) throw new StartError(`${path}: "${resource}" must have methods by name`)
  if ('$ref' in item)
    throw new StartError(`${path}: "${resource}" is a $ref, which is not followed: bundle the file first`)
  if (resource === DEFAULT_PATH) return ANY_METHOD in item ? [...CATCH_ALL] : []
  const resourceId = createHash('sha256').update(resource).digest('hex').slice(0, 6)
  const named = METHODS.filter((method) => method in item).map((method) => method.toUpperCase())
  return [...named, ...(ANY_METHOD in item ? ['ANY'] : [])].map((method) => ({ method, resource, resourceId }))
}

function read(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new StartError(isMissing ? `there is no file ${path}` : `${path} cannot be read: ${reasonOf(error)}`)
  }
  try {
    return parse(text)
  } catch (error) {
    throw new StartError(`${path}: ${reasonOf(error)}`)
  }
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
