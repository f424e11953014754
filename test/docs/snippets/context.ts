/**
 * What snippets take for granted: a snippet of a stack shows the lines that matter, and not the whole stack. A page's
 * own declarations come first.
 */
declare global {
  const RestApi: typeof import('aws-cdk-lib/aws-apigateway').RestApi
  const Duration: typeof import('aws-cdk-lib').Duration
  const SnsAction: typeof import('aws-cdk-lib/aws-cloudwatch-actions').SnsAction
  const api: import('aws-cdk-lib/aws-apigateway').RestApi
  const topic: import('aws-cdk-lib/aws-sns').Topic
  const pool: import('aws-cdk-lib/aws-cognito').UserPool
  const userPool: import('aws-cdk-lib/aws-cognito').UserPool
  const client: import('aws-cdk-lib/aws-cognito').UserPoolClient
  const checkTokens: import('aws-cdk-lib/aws-lambda').IFunction
  const limiter: import('../../../lib').RateLimiter
}

export {}
