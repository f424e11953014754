import * as v from 'valibot'
import type { FieldRules } from '../limiter/policies/report'

const integer = (least: number, most: number) =>
  ({
    schema: v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most)),
    wanted: `an integer from ${least} to ${most}`,
    optional: true,
  }) as const
const oneOf = <const Words extends readonly string[]>(words: Words) =>
  ({ schema: v.picklist(words), wanted: `one of ${words.join(', ')}`, optional: true }) as const

/** How the fields of `TieredSettings` are checked. */
export const SETTINGS = {
  failureMode: oneOf(['local', 'allow', 'deny']),
  authentication: oneOf(['config', 'none']),
  deadlineMs: integer(20, 9000),
  ipv6Prefix: integer(1, 128),
  write: {
    schema: v.custom((write) => typeof write === 'function'),
    wanted: 'a function that takes a line',
    optional: true,
  },
} as const satisfies FieldRules
