import { App, Stack } from 'aws-cdk-lib'
import { MockIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { RateLimiter } from '../../lib/index'
import { resourcesIn } from './apis'

/** So many protected REST APIs, spread over stacks of an app. */
export function manyApis(count: number, perStack: number, invokeRole?: boolean) {
  const app = new App()
  const own = new Stack(app, 'Limits')
  const limiter = new RateLimiter(own, 'Limiter', { invokeRole })
  const stacks = Array.from({ length: Math.ceil(count / perStack) }, (_, i) => new Stack(app, `Apis${i}`))
  for (let i = 0; i < count; i++) {
    const api = new RestApi(stacks[Math.floor(i / perStack)]!, `Api${i}`, { cloudWatchRole: false })
    api.root.addMethod('GET', new MockIntegration())
    limiter.protect(api)
  }
  return { app, own, stacks }
}

/** The permissions of authorizers to call the function. */
export const permissionsIn = (stack: Stack) =>
  resourcesIn(stack, 'AWS::Lambda::Permission').filter(([, { Properties }]) =>
    JSON.stringify(Properties.SourceArn).includes('/authorizers/'),
  )
