import type { CompiledPolicy } from './compiled-policy'
import { ConfigError, Mistake, printed } from './errors'

/**
 * Finds some of the policies: the same list for the same names, so that requests can share writes; bounded by
 * forgetting all.
 */
export function policiesByName(policies: readonly CompiledPolicy[]): (names: readonly string[]) => CompiledPolicy[] {
  const found = new Map<string, CompiledPolicy[]>()
  return (names) => {
    const id = names.join('\n')
    const some = found.get(id) ?? named(policies, names)
    if (found.size >= 1000) found.clear()
    found.set(id, some)
    return some
  }
}

function named(policies: readonly CompiledPolicy[], names: readonly string[]): CompiledPolicy[] {
  const unknown = names.filter((name) => !policies.some((policy) => policy.name === name))
  if (unknown.length > 0 || names.length === 0) {
    const known = policies.map(({ name }) => printed(name)).join(', ')
    throw new ConfigError([
      new Mistake(
        'invalid_value',
        `policies must be some of ${known}, got ${unknown.map(printed).join(', ') || 'none'}`,
      ),
    ])
  }
  return policies.filter(({ name }) => names.includes(name))
}
