/** A handler keeps its types in the wrapper. Checked by `npm run typecheck`, and never run. */
import type { APIGatewayProxyEvent, APIGatewayProxyHandler, APIGatewayProxyResult } from 'aws-lambda'
import { withRateLimit } from 'sluice/backend'

const withCallback: APIGatewayProxyHandler = async () => ({ statusCode: 200, body: '' })
withRateLimit(withCallback)

const handler: (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult> = withRateLimit(
  async (_event: APIGatewayProxyEvent) => ({ statusCode: 200, body: '' }),
)
// @ts-expect-error: Expected 1 arguments, but got 0
handler()
