import * as v from 'valibot'
import type { StateStore } from './store'

/** What may be a store in options. */
export const STORE = {
  schema: v.custom<StateStore>((store) =>
    ['write', 'read', 'delete'].every((name) => typeof (store as never)?.[name] === 'function'),
  ),
  wanted: 'a store such as new MemoryStore() or new DynamoDbStore({ client, tableName })',
} as const
