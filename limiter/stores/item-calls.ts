import type {
  BatchGetItemInput,
  BatchGetItemOutput,
  DeleteItemInput,
  DeleteItemOutput,
  GetItemInput,
  GetItemOutput,
  QueryInput,
  QueryOutput,
  UpdateItemInput,
  UpdateItemOutput,
} from '@aws-sdk/client-dynamodb'
import type { CallOptions } from './store'

/** What is asked of DynamoDB while requests are decided and settled, in its own words. */
export interface ItemOperations {
  BatchGetItem: { readonly input: BatchGetItemInput; readonly output: BatchGetItemOutput }
  DeleteItem: { readonly input: DeleteItemInput; readonly output: DeleteItemOutput }
  GetItem: { readonly input: GetItemInput; readonly output: GetItemOutput }
  Query: { readonly input: QueryInput; readonly output: QueryOutput }
  UpdateItem: { readonly input: UpdateItemInput; readonly output: UpdateItemOutput }
}

/**
 * Calls on items, by the SDK's client (sdk-calls.ts) or without it (direct-calls.ts): each is sent once, ends at its
 * signal, and returns an answer of DynamoDB or throws an error with DynamoDB's name for it, fields and `$metadata`.
 */
export interface ItemCalls {
  call<Operation extends keyof ItemOperations>(
    operation: Operation,
    input: ItemOperations[Operation]['input'],
    options?: CallOptions,
  ): Promise<ItemOperations[Operation]['output']>
}

/**
 * What an answer that says no request is refused with. One that is empty, or of another kind, would be read as an item
 * that is not there, and a write that never happened as the first of its subject.
 */
export const notOfDynamoDb = (): TypeError => new TypeError('the answer is not one of DynamoDB')
