// A REST API in front of a model, limited by requests, by tokens, and by how many requests run at once:
// npm install sluice aws-cdk-lib constructs esbuild @aws-sdk/client-dynamodb aws-cdk@2, and
// npx cdk deploy --app 'node app.mjs'
import { App, Duration, Stack } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Runtime } from 'aws-cdk-lib/aws-lambda'
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { RateLimiter } from 'sluice'

const stack = new Stack(new App(), 'Model')
const chat = new NodejsFunction(stack, 'Chat', {
  entry: 'chat.mjs',
  runtime: Runtime.NODEJS_24_X,
  timeout: Duration.seconds(29), // API Gateway waits no longer, unless you have asked for more
  bundling: { externalModules: [] }, // the AWS SDK as well: it starts faster than Lambda's own
})
const api = new RestApi(stack, 'Api')
api.root.addResource('chat').addMethod('POST', new LambdaIntegration(chat))

const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: 'tiers.yaml' })
limiter.protect(api)
limiter.grantSettle(chat) // so that chat.mjs can settle what an answer used, and free its slot
