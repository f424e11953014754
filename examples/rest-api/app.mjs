// A REST API of your own, limited: npm install sluice aws-cdk-lib constructs aws-cdk@2, and
// npx cdk deploy --app 'node app.mjs'
import { App, Stack } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { RateLimiter } from 'sluice'

const stack = new Stack(new App(), 'Shop')
const backend = new LambdaFunction(stack, 'Backend', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromInline(`
    let served = 0
    exports.handler = async ({ path }) => ({ statusCode: 200, body: JSON.stringify({ path, served: ++served }) })
  `),
})
const api = new RestApi(stack, 'Api')
const things = api.root.addResource('things').addMethod('GET', new LambdaIntegration(backend))
api.root.addResource('health').addMethod('GET', new LambdaIntegration(backend))

const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: 'tiers.yaml' })
limiter.protect(api, { methods: [things] }) // and not the health check; protect(api) is for all
