import { failureOf } from '../exit'

/** The result of one check. */
export interface Check {
  readonly name: string
  /** `skipped`: nothing could be found out, because another check failed or a right is missing. */
  readonly status: 'ok' | 'warning' | 'FAILED' | 'skipped'
  readonly found: string
  /** What to do about it. */
  readonly remedy?: string
}

/** Runs a check; an error becomes a failed check. */
export async function checked(name: string, remedy: string, look: () => Promise<Omit<Check, 'name'>>): Promise<Check> {
  try {
    return { name, ...(await look()) }
  } catch (error) {
    return { name, status: 'FAILED', found: failureOf(error).message, remedy }
  }
}

/** Checks that could say nothing, because what they look at was not reached. */
export const notChecked = (names: readonly string[], why: string): Check[] =>
  names.map((name) => ({ name, status: 'skipped', found: `not checked: ${why}` }))
