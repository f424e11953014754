import type { MethodSnapshot } from '@aws-sdk/client-api-gateway'
import type { Method, PendingEdits } from './api-state'

/** The methods of a deployment, by path and verb. */
export type ApiSummary = Readonly<Record<string, Readonly<Record<string, MethodSnapshot>>>>

/** The authorization types in a deployment, by method. Emulators leave types out. */
export const typesIn = (apiSummary: ApiSummary): ReadonlyMap<string, string> =>
  new Map(
    [...methodsIn(apiSummary)].flatMap(([key, { authorizationType: type }]) =>
      type === undefined ? [] : [[key, type]],
    ),
  )

const methodsIn = (apiSummary: ApiSummary): ReadonlyMap<string, MethodSnapshot> =>
  new Map(
    Object.entries(apiSummary).flatMap(([path, verbs]) =>
      Object.entries(verbs).map(([verb, one]): [string, MethodSnapshot] => [`${verb} ${path}`, one]),
    ),
  )

/**
 * Compares the methods that a deployment serves with those of the API's current state.
 */
export function compareDeployment(methods: readonly Method[], apiSummary: ApiSummary): PendingEdits {
  const deployed = methodsIn(apiSummary)
  const edits = methods.flatMap(({ key, authorization, apiKeyRequired }) => {
    const before = deployed.get(key)
    if (!before) return [`${key} is new`]
    const { authorizationType = authorization.type, apiKeyRequired: wasRequired = false } = before
    return [
      ...(authorizationType === authorization.type
        ? []
        : [`${key} changes from ${authorizationType} to ${authorization.type}`]),
      ...(wasRequired === apiKeyRequired
        ? []
        : [`${key} ${apiKeyRequired ? 'requires' : 'no longer requires'} an API key`]),
    ]
  })
  const now = new Set(methods.map(({ key }) => key))
  const gone = [...deployed.keys()].filter((key) => !now.has(key)).map((key) => `${key} is deleted`)
  // A summary without authorization types, as emulators return, is read as unchanged.
  const servedBy = ({ key, authorization }: Method) =>
    deployed.has(key) ? (deployed.get(key)!.authorizationType ?? authorization.type) : 'NONE'
  const isOpen = ({ authorization }: Method) => authorization.type === 'NONE'
  return {
    edits: [...edits, ...gone],
    complete: false,
    opens: methods.flatMap((method) =>
      isOpen(method) && servedBy(method) !== 'NONE' ? [{ key: method.key, by: servedBy(method) }] : [],
    ),
    closes: methods.flatMap((method) =>
      deployed.has(method.key) && !isOpen(method) && servedBy(method) === 'NONE' ? [method.key] : [],
    ),
  }
}
