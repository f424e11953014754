import * as errors from '../errors'
import { isOfKind } from './store'

/**
 * Errors of a program that has two of each class (see `isOfKind`) pass for both. Entry points import this for its
 * effect: the authorizer, which is one bundle, does without.
 */
const { SluiceError, ChargedAtError, ClockError, ConfigError, CostError } = errors
const { ReservationError, StoreUnavailableError, SubjectError } = errors
const LEAVES = {
  ChargedAtError,
  ClockError,
  ConfigError,
  CostError,
  ReservationError,
  StoreUnavailableError,
  SubjectError,
}

for (const [name, { prototype }] of Object.entries({ SluiceError, ...LEAVES }))
  Object.defineProperty(prototype, 'kind', { value: `sluice:${name}` })

Object.defineProperty(SluiceError, Symbol.hasInstance, {
  value(this: { readonly prototype: object }, value: unknown): boolean {
    return isOfKind(this, value)
  },
})

// biome-ignore lint/complexity/noUselessEmptyExport: CommonJS for esbuild without it (lib/split-build.ts)
export {}
