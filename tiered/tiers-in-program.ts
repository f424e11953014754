import * as v from 'valibot'
import type { CommonOptions } from '../lambda/assemble-parts'
import { AccessList } from '../lambda/config-table/items/access-list'
import { parseTiersFile } from '../lambda/config-table/items/parse-tiers-file'
import { checkNoneRequired } from '../lambda/config-table/items/policy-set-checks'
import { SubjectKeys } from '../lambda/config-table/subject-keys'
import { ConfigError, type Mistake } from '../limiter/errors'
import { checkFields } from '../limiter/policies/report'
import { STORE } from '../limiter/stores/store-option'
import { secretOf } from '../limiter/subject-key'
import { SETTINGS } from './settings-rules'
import type { TiersInProgram } from './tiered-settings'

const OPTIONS = {
  ...SETTINGS,
  tiers: { schema: v.record(v.string(), v.unknown()), wanted: 'tiers by name, or the content of a tiers file' },
  store: STORE,
  hmacKey: { schema: v.any(), wanted: 'a secret', optional: true },
} as const

/**
 * Checks the options of a limiter whose tiers and callers the program knows itself.
 *
 * @returns a function that makes its parts.
 * @throws ConfigError with every mistake in the options and tiers.
 */
export function checkedTiers(options: TiersInProgram) {
  const issues: Mistake[] = []
  const given = checkFields(options, OPTIONS, 'options', [], issues)
  const secret = options.hmacKey === undefined ? undefined : secretOf(options.hmacKey, issues)
  const policies = given?.tiers === undefined ? undefined : parsed(options.tiers, issues)
  if (policies && options.authentication === 'none') checkNoneRequired(policies, [PLACE], issues)
  if (issues.length > 0 || !policies) throw new ConfigError(issues)
  const configuration = { policies, access: new AccessList([]) }
  const subjectKeys = new SubjectKeys(secret ? [{ secret, activeFrom: 0 }] : [])
  return async (common: CommonOptions) => {
    const { assembleWith } = await import('../lambda/assemble-parts.ts')
    return assembleWith(common, options.store, {
      configuration: { current: async () => configuration },
      subjectKeys: { current: async () => subjectKeys },
      clients: { find: async () => undefined },
    })
  }
}

/** Where mistakes in the tiers stand. */
const PLACE = 'tiers'

function parsed(tiers: Readonly<Record<string, unknown>>, issues: Mistake[]) {
  try {
    return parseTiersFile('tiers' in tiers ? tiers : { tiers }, PLACE)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    issues.push(...error.mistakes)
    return undefined
  }
}
