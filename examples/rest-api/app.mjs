// A REST API of your own, limited: npm install sluice aws-cdk-lib constructs, and npx cdk deploy --app 'node app.mjs'
import { App, Stack } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { RateLimiter } from 'sluice'

const stack = new Stack(new App(), 'Shop')
const backend = new LambdaFunction(stack, 'Backend', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromInline(
    `exports.handler = async ({ path }) => (console.log('served', path), { statusCode: 200, body: 'a list of things' })`,
  ),
})
const api = new RestApi(stack, 'Api')
api.root.addResource('things').addMethod('GET', new LambdaIntegration(backend))

const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: 'tiers.yaml' })
limiter.protect(api)
