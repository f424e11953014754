/** `source` and `detail-type` of the events of callers that near a limit. */
export const NEARING_EVENT = { source: 'sluice', detailType: 'Caller nears a limit' } as const

/**
 * The function that sends lines of the log to EventBridge. The runtime includes the SDK. Events that EventBridge
 * rejects are sent again; if that fails, too, the function fails, so that Lambda passes it the same lines again: an
 * event may come twice, with the same `id`.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html
 */
export const FORWARDER = `const { gunzipSync } = require('node:zlib')
const { EventBridgeClient, PutEventsCommand } = require('@aws-sdk/client-eventbridge')
const client = new EventBridgeClient({})

exports.handler = async ({ awslogs }) => {
  const { messageType, logGroup, logEvents } = JSON.parse(gunzipSync(Buffer.from(awslogs.data, 'base64')))
  if (messageType !== 'DATA_MESSAGE') return
  let left = logEvents.map(({ id, timestamp, message }) => {
    const { level, event, message: sentence, ...line } = JSON.parse(message)
    return {
      EventBusName: process.env.EVENT_BUS,
      Source: '${NEARING_EVENT.source}',
      DetailType: '${NEARING_EVENT.detailType}',
      Time: new Date(timestamp),
      Detail: JSON.stringify({ id, logGroup, ...line }),
    }
  })
  for (let tries = 0; left.length > 0 && tries < 3; tries++) {
    const refused = []
    for (let i = 0; i < left.length; i += 10) {
      const some = left.slice(i, i + 10)
      const { Entries } = await client.send(new PutEventsCommand({ Entries: some }))
      refused.push(...some.filter((_, at) => Entries[at].ErrorCode))
    }
    left = refused
  }
  if (left.length > 0) throw new Error(left.length + ' events were not accepted')
}
`
