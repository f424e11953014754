interface Output {
  readonly $metadata?: { readonly requestId?: string }
}

/**
 * An answer that is DynamoDB's own, since it says which request it answers. One that is empty, or of another kind,
 * would be read as that of an item that is not there: a write that nobody has made would have been the first of its
 * subject.
 *
 * @throws TypeError for any other answer of a client; what has no metadata at all, such as a stand-in's, passes.
 */
export function assertDynamoDbResponse<T extends Output>(output: T): T {
  if (output.$metadata && !output.$metadata.requestId) throw new TypeError('the answer is not one of DynamoDB')
  return output
}
