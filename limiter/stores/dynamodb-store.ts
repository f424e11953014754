import { Mistake, printed } from '../errors'
import { type ConnectionOptions, connect } from './connection'
import { ItemStore } from './item-store'
import { isOfKind } from './store'

/** Where a `DynamoDbStore` keeps its items, and how it calls DynamoDB. */
export interface DynamoDbStoreOptions extends ConnectionOptions {
  /** Name or ARN. */
  readonly tableName: string
}

/** One item per subject in a DynamoDB table with the string key `pk`; every change is one `UpdateItem`. */
export class DynamoDbStore extends ItemStore {
  /** @throws ConfigError that names each option that is missing or invalid. */
  constructor({ tableName, ...connection }: DynamoDbStoreOptions) {
    const issues: Mistake[] = []
    if (typeof tableName !== 'string' || tableName === '')
      issues.push(new Mistake('invalid_value', `tableName must be the name of a table, got ${printed(tableName)}`))
    super(connect(connection, issues), tableName)
  }

  /** @internal */
  get kind(): string {
    return 'sluice:DynamoDbStore'
  }

  /** @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a derived class asks for its own instances
    return isOfKind(this, value)
  }
}
