import type { Meter } from './meter'

/** A meter that is loaded meanwhile. What is wrong with it is an error of its first call. */
export function lazyMeter(loading: Promise<Meter>): Meter {
  loading.catch(() => {}) // its calls throw it
  return {
    debit: async (units) => (await loading).debit(units),
    settle: async (used) => (await loading).settle(used),
  }
}
