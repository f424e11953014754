/**
 * What the process has once, though a program may load the CommonJS modules of the middlewares and their ES modules
 * (ADR 0057): what one has noted of a request, the other finds.
 */
export function ofProcess<Value extends object>(name: string, make: () => Value): Value {
  const all = globalThis as unknown as Record<symbol, Value | undefined>
  const key = Symbol.for(`sluice:${name}`)
  all[key] ??= make()
  return all[key]
}
