import type { GatewayResponse, Integration, Values } from './api-state'

/** A change as its step records it. */
export interface Change<T> {
  /** What reverting restores. */
  readonly before: T
  readonly after: T
  /** What the step found, where that has values of an earlier attach: they stay there if the step was not done. */
  readonly from?: T
}

/** The result of reverting a change, and the parts that somebody changed since, which stay as they are. */
export interface Reverted<T> {
  readonly result: T
  readonly changed: readonly string[]
}

/** Reverts a change in what is there now. */
export function revertResponse(change: Change<GatewayResponse>, now: GatewayResponse): Reverted<GatewayResponse> {
  const { before } = change
  if (now.isDefault) return { result: now, changed: before.isDefault ? [] : ['it was deleted since'] }
  const { result, changed } = revertValues(partsOf(change, flat), flat(now))
  const { statusCode = now.statusCode, ...rest } = result
  const part = (prefix: string) =>
    Object.fromEntries(
      Object.entries(rest).flatMap(([name, value]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
      ),
    )
  const restored = { isDefault: false, statusCode, parameters: part('header '), templates: part('template ') }
  return { result: { ...restored, isDefault: before.isDefault && isSameValues(flat(restored), flat(before)) }, changed }
}

/** The same for the mappings of an integration. */
export function revertMappings(
  change: Change<Integration['responseParameters']>,
  now: Integration['responseParameters'],
): Reverted<Integration['responseParameters']> {
  const changed: string[] = []
  const result: Record<string, Values> = {}
  for (const code of new Set([...Object.keys(change.before), ...Object.keys(now)])) {
    const one = revertValues(
      partsOf(change, (mappings) => mappings[code] ?? {}),
      now[code] ?? {},
    )
    changed.push(...one.changed.map((name) => `${name} for ${code}`))
    if (Object.keys(one.result).length > 0) result[code] = one.result
  }
  return { result, changed }
}

const partsOf = <T>({ before, after, from }: Change<T>, part: (whole: T) => Values): Change<Values> => ({
  before: part(before),
  after: part(after),
  ...(from !== undefined && { from: part(from) }),
})

export const isSameResponse = (one: GatewayResponse, other: GatewayResponse): boolean =>
  one.isDefault === other.isDefault && (one.isDefault || isSameParts(one, other))

/** Whether two have the same status, headers and bodies, wherever they have them from. */
export const isSameParts = (one: GatewayResponse, other: GatewayResponse): boolean =>
  isSameValues(flat(one), flat(other))

export function isSameMappings(
  one: Integration['responseParameters'],
  other: Integration['responseParameters'],
): boolean {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((code) =>
    isSameValues(one[code] ?? {}, other[code] ?? {}),
  )
}

/** A value is attach's where the step sets it or found it, and it is not what reverting restores. */
function revertValues({ before, after, from = after }: Change<Values>, now: Values): Reverted<Values> {
  const result: Record<string, string> = {}
  const changed: string[] = []
  for (const name of new Set([before, after, from, now].flatMap((values) => Object.keys(values)))) {
    const ours = [after[name], from[name]].filter((value) => value !== before[name])
    const value = ours.includes(now[name]) ? before[name] : now[name]
    if (ours.length > 0 && value === now[name] && now[name] !== before[name]) changed.push(name)
    if (value !== undefined) result[name] = value
  }
  return { result, changed }
}

function flat({ statusCode, parameters, templates }: GatewayResponse): Values {
  const prefixed = (prefix: string, values: Values) =>
    Object.entries(values).map(([name, value]) => [prefix + name, value])
  return Object.fromEntries([
    ['statusCode', statusCode],
    ...prefixed('header ', parameters),
    ...prefixed('template ', templates),
  ])
}

function isSameValues(one: Values, other: Values): boolean {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}
