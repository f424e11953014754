/** The state table in which a function settles, from its environment; `undefined` if it was not granted that. */
export interface SettlingTable {
  readonly name: string
  /** URL of a DynamoDB to use instead of the Region's own. */
  readonly endpoint: string | undefined
}

export function settlingTable(): SettlingTable | undefined {
  const { SLUICE_STATE_TABLE: name, SLUICE_DYNAMODB_ENDPOINT: endpoint } = process.env
  return name ? { name, endpoint: endpoint || undefined } : undefined
}
