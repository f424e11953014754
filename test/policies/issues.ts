import { ConfigError, type Mistake } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import type { Policy, PolicyInput } from '../../limiter/policies/policy'

/** A valid policy with these fields changed; `undefined` removes one. */
export const policy = (changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  name: 'per-minute',
  limit: 60,
  window: '1m',
  ...changes,
})

/** All issues of a list of policies. */
export function issuesIn(policies: unknown, place: readonly string[] = []): string[] {
  const issues: Mistake[] = []
  const parsed = parsePolicies(policies, place, issues)
  expect(parsed.length === 0 || issues.length === 0 || Array.isArray(policies)).toBe(true)
  return issues.map(String)
}

/** The parsed policy, which must be valid. */
export function parsed(changes: Partial<Record<keyof PolicyInput, unknown>> = {}): Policy {
  const issues: Mistake[] = []
  const [only] = parsePolicies([policy(changes)], [], issues)
  expect(issues).toEqual([])
  return only!
}

/** The issues of a call, which must throw a `ConfigError`. */
export function issuesOf(call: () => unknown): readonly string[] {
  let thrown: unknown
  try {
    call()
  } catch (error) {
    thrown = error
  }
  if (!(thrown instanceof ConfigError))
    throw new Error(`expected a ConfigError, got ${String(thrown)}`, { cause: thrown })
  const { message } = thrown
  expect(thrown.issues.filter((issue) => !message.includes(issue))).toEqual([])
  return thrown.issues
}

/** Invalid values, as people, programs and attackers may write them. */
export const RUBBISH: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  Number.NaN,
  Infinity,
  '',
  'x',
  '__proto__',
  [],
  [[]],
  [null],
  {},
  { constructor: 1 },
  JSON.parse('{"__proto__": {"limit": 1}}'),
  new Map(),
  new Date(0),
  10n,
  Symbol('s'),
  () => 1,
]
