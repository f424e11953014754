import type { Explanation } from './model/explain'
import type { Run } from './model/run'
import type { Setting } from './model/setting'

/** What the page asks its worker. */
export type Asked =
  | { readonly kind: 'run'; readonly setting: Setting }
  | { readonly kind: 'explain'; readonly id: number; readonly setting: Setting; readonly indexes: readonly number[] }

/** What the worker says. */
export type Told =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'run'; readonly run: Run }
  | { readonly kind: 'explained'; readonly id: number; readonly explanations: readonly Explanation[] }
  | { readonly kind: 'failed'; readonly message: string }
