import { App, CfnOutput, Stack } from 'aws-cdk-lib'
import { ApiDefinition, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import { RateLimiter } from '../../lib/index'

/** What a deployment says, as the CDK writes it. */
export interface Outputs {
  readonly Documented: { readonly Url: string }
}

const method = {
  responses: { 200: { description: 'an order' } },
  'x-amazon-apigateway-integration': {
    type: 'mock',
    requestTemplates: { 'application/json': '{ "statusCode": 200 }' },
    responses: { default: { statusCode: '200' } },
  },
}

/** An API that an OpenAPI document describes, protected by a limiter of its own. */
const stack = new Stack(new App(), 'Documented')
const limiter = new RateLimiter(stack, 'Limiter', {
  tiers: { anonymous: { policies: [{ algorithm: 'fixed-window', limit: 2, window: 'day' }] } },
})
const api = new SpecRestApi(stack, 'Api', {
  apiDefinition: ApiDefinition.fromInline({
    openapi: '3.0.1',
    info: { title: 'Shop', version: '1' },
    paths: { '/orders': { get: method, options: method } },
  }),
})
limiter.protect(api)
new CfnOutput(stack, 'Url', { value: api.url })
