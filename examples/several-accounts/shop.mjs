// In the account of the API, then: npx cdk deploy --app 'node shop.mjs'
import { App, Stack } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { RateLimiter } from 'sluice'
import { FUNCTION, SHOP } from './accounts.mjs'

const stack = new Stack(new App(), 'Shop', { env: SHOP })
const backend = new LambdaFunction(stack, 'Backend', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromInline(`exports.handler = async ({ path }) => ({ statusCode: 200, body: JSON.stringify({ path }) })`),
})
const api = new RestApi(stack, 'Api')
api.root.addResource('things').addMethod('GET', new LambdaIntegration(backend))

const limiter = RateLimiter.fromFunctionArn(stack, 'Limiter', FUNCTION.arn)
limiter.protect(api)
