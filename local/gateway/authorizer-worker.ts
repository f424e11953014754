import { randomUUID } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'

/** Simulates Lambda's runtime: loads the bundle once, then passes it one event at a time, JSON in and JSON out. */
export interface WorkerData {
  readonly bundle: string
  readonly timeoutMs: number
}

export type WorkerMessage = { readonly answer: string } | { readonly errorMessage: string; readonly trace: string }

const { bundle, timeoutMs } = workerData as WorkerData
const { handler } = require(bundle) as { handler: (event: unknown, context: object) => unknown }

parentPort?.on('message', (event: string) => {
  invoke(event).then((message) => parentPort?.postMessage(message))
})

async function invoke(event: string): Promise<WorkerMessage> {
  try {
    const answer = await handler(JSON.parse(event), lambdaContext())
    return { answer: JSON.stringify(answer) ?? 'null' }
  } catch (error) {
    if (error instanceof Error) return { errorMessage: error.message, trace: error.stack ?? error.message }
    return { errorMessage: String(error), trace: String(error) }
  }
}

function lambdaContext() {
  const endsAt = Date.now() + timeoutMs
  return {
    functionName: 'sluice-authorizer',
    functionVersion: '$LATEST',
    invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:sluice-authorizer',
    memoryLimitInMB: '256',
    logGroupName: '/aws/lambda/sluice-authorizer',
    logStreamName: 'local',
    awsRequestId: randomUUID(),
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => endsAt - Date.now(),
  }
}
