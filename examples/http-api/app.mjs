// An HTTP API, whose backend answers 429:
// npm install sluice aws-cdk-lib constructs esbuild aws-cdk@2, and npx cdk deploy --app 'node app.mjs'
import { App, CfnOutput, Stack } from 'aws-cdk-lib'
import { HttpApi, HttpMethod, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpLambdaIntegration, WebSocketMockIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { Runtime } from 'aws-cdk-lib/aws-lambda'
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { RateLimiter } from 'sluice'

const stack = new Stack(new App(), 'News')
const backend = new NodejsFunction(stack, 'Backend', { entry: 'backend.mjs', runtime: Runtime.NODEJS_24_X })
const integration = new HttpLambdaIntegration('Integration', backend)
const api = new HttpApi(stack, 'Api')
const routes = api.addRoutes({ path: '/news', methods: [HttpMethod.GET], integration })
api.addRoutes({ path: '/status', methods: [HttpMethod.GET], integration })
const plain = new HttpApi(stack, 'Plain')
plain.addRoutes({
  path: '/news',
  methods: [HttpMethod.GET],
  integration: new HttpLambdaIntegration('PlainIntegration', backend),
})
new CfnOutput(stack, 'ApiUrl', { value: api.apiEndpoint })
new CfnOutput(stack, 'PlainUrl', { value: plain.apiEndpoint })
const chat = new WebSocketApi(stack, 'Chat', {
  connectRouteOptions: { integration: new WebSocketMockIntegration('Connect') },
})

// 'backend-429' lets requests over the limit through to backend.mjs, which turns them away.
const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: 'tiers.yaml', denials: 'backend-429' })
limiter.protect(api, { routes }) // and not the status page
limiter.protect(chat) // its connections

// This one stops them at the gateway, with a 403. Both could share tables.
const strict = new RateLimiter(stack, 'Strict', { tiersFile: 'tiers.yaml' })
strict.protect(plain)
