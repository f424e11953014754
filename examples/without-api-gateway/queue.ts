import type { SQSBatchResponse, SQSEvent } from 'aws-lambda'
import type { TieredLimiter } from 'sluice/tiered'

/**
 * A worker of a queue: nobody is there to be answered. A message over the limit goes back to the queue, which delivers
 * it again after its visibility timeout; it was charged nothing. Each such round counts towards `maxReceiveCount`.
 */
export const worker = (limiter: TieredLimiter, work: (body: string) => Promise<void>) =>
  async function handler({ Records }: SQSEvent): Promise<SQSBatchResponse> {
    const batchItemFailures: { itemIdentifier: string }[] = []
    for (const { messageId, body, messageAttributes } of Records) {
      const clientId = messageAttributes.client?.stringValue // set by a producer of one's own, so it is verified
      const { allowed } = await limiter.decide({ method: 'POST', path: '/jobs', clientId })
      if (allowed) await work(body)
      else batchItemFailures.push({ itemIdentifier: messageId })
    }
    return { batchItemFailures }
  }
