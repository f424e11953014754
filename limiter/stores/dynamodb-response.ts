interface Output {
  readonly $metadata?: { readonly requestId?: string }
}

/**
 * Returns an answer if it is DynamoDB's own, which says which request it answers. One that is empty, or of another
 * kind, would be read as an item that is not there, and a write that never happened as the first of its subject.
 *
 * @throws TypeError for any other answer of a client; what has no metadata at all, such as a stand-in's, passes.
 */
export function assertDynamoDbResponse<T extends Output>(output: T): T {
  if (output.$metadata && !output.$metadata.requestId) throw new TypeError('the answer is not one of DynamoDB')
  return output
}
