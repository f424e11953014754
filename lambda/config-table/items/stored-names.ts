import type { FieldRules } from '../../../limiter/policies/report'

/** The fields of an item of the config table. */
export type ItemFields = Readonly<
  Record<
    string,
    FieldRules[string] & {
      /**
       * The name under which the table stores the field, where that is a former name. The release before would take an
       * item with an unknown field for invalid, and both releases work on one table during a deployment.
       */
      readonly storedAs?: string
    }
  >
>

/**
 * An item under the present names of its fields. A field stored under both names is left as it is, and is then a
 * mistake.
 */
export function withPresentNames<T>(fields: ItemFields, item: T): T {
  return Object.entries(fields).reduce((one, [name, { storedAs }]) => renamed(one, storedAs, name), item)
}

/** An item under the names by which its fields are stored. */
export function withStoredNames<T>(fields: ItemFields, item: T): T {
  return Object.entries(fields).reduce((one, [name, { storedAs }]) => renamed(one, name, storedAs), item)
}

function renamed<T>(item: T, from: string | undefined, to: string | undefined): T {
  if (from === undefined || to === undefined) return item
  const { [from]: value, ...others } = Object(item)
  return value === undefined || to in others ? item : { ...others, [to]: value }
}
