/**
 * Replaces the SDK's event streams: no DynamoDB operation has one, and the SDK loads them only for operations that do.
 */
export class EventStreamSerde {
  constructor() {
    throw new Error('event streams are left out of the authorizer bundle')
  }
}
