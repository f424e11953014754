import { Stack } from 'aws-cdk-lib'
import { CfnDeployment, Deployment, RestApi, Stage } from 'aws-cdk-lib/aws-apigateway'
import { CfnDeployment as CfnHttpDeployment, HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { RateLimiter } from '../../lib/index'
import { httpApi, limited, printedFor, resourcesIn, restApi, waitedForBy } from './apis'

const DEPLOYMENT = 'AWS::ApiGateway::Deployment'
const only = <T>(found: readonly T[]): T => {
  expect(found).toHaveLength(1)
  return found[0]!
}

describe('a deployment of one’s own, of an API with deploy: false', () => {
  type Make = (stack: Stack, api: RestApi) => unknown
  const made: readonly (readonly [string, Make])[] = [
    ['the CDK’s', (stack, api) => new Deployment(stack, 'Mine', { api })],
    ['CloudFormation’s', (stack, api) => new CfnDeployment(stack, 'Mine', { restApiId: api.restApiId })],
  ]
  const deployed = (make: Make, protect: (limiter: RateLimiter, api: RestApi) => void) => {
    const { stack, limiter } = limited()
    const { api } = restApi(stack, { deploy: false })
    make(stack, api)
    protect(limiter, api)
    api.root.addMethod('PUT')
    return { stack, deployment: only(resourcesIn(stack, DEPLOYMENT)) }
  }

  it.each(made)('is made anew by each change of what is protected, and only then (%s)', (_, make) => {
    const ids = [
      () => {},
      (limiter: RateLimiter, api: RestApi) => limiter.protect(api),
      (limiter: RateLimiter, api: RestApi) => limiter.protect(api),
      (limiter: RateLimiter, api: RestApi) => limiter.protect(api, { except: ['GET /'] }),
    ].map((protect) => deployed(make, protect).deployment[0])
    expect(ids[2]).toBe(ids[1])
    expect(new Set(ids).size).toBe(3)
    expect(ids.every((id) => id.startsWith('Mine'))).toBe(true)
  })

  it.each(made)('waits for the authorizer, its permission, the 429, the methods and the tiers (%s)', (_, make) => {
    const { stack, limiter } = limited({ tiersFile: 'tiers.yaml' })
    const { api } = restApi(stack, { deploy: false })
    make(stack, api)
    limiter.protect(api)
    const [id] = only(resourcesIn(stack, DEPLOYMENT))
    const wanted = [
      ...['AWS::ApiGateway::Authorizer', 'AWS::Lambda::Permission', 'AWS::ApiGateway::GatewayResponse'],
      ...['AWS::ApiGateway::Method', 'Custom::SluiceTiers'],
    ].flatMap((type) => resourcesIn(stack, type).map(([id]) => id))
    expect(wanted).toHaveLength(6)
    expect(waitedForBy(stack, id)).toEqual(expect.arrayContaining(wanted))
    expect(printedFor(stack, 'warning')).toEqual([])
  })

  it('is found in another stack of the app, and one of another API is left alone', () => {
    const ids = [false, true].map((isProtected) => {
      const { app, stack, limiter } = limited()
      const { api } = restApi(stack, { deploy: false })
      const other = new Stack(app, 'Other')
      const deployment = new Deployment(other, 'Mine', { api })
      new Stage(other, 'Prod', { deployment })
      const theirs = new RestApi(other, 'Theirs', { cloudWatchRole: false })
      theirs.root.addMethod('GET')
      if (isProtected) limiter.protect(api)
      return resourcesIn(other, DEPLOYMENT).map(([id]) => id)
    })
    const [before, after] = ids as [string[], string[]]
    expect(after.filter((id) => !before.includes(id))).toEqual([expect.stringMatching(/^Mine/)])
    expect(after.filter((id) => before.includes(id))).toEqual([expect.stringMatching(/^Theirs/)])
  })

  it('that is nowhere in the app causes a warning', () => {
    const { stack, limiter } = limited()
    limiter.protect(restApi(stack, { deploy: false }).api)
    expect(printedFor(stack, 'warning')).toEqual([
      expect.stringMatching(/^no deployment of Stack\/Api is in this app: .*\[ack: sluice:deployment\]/),
    ])
  })
})

describe('an HTTP API whose stages do not deploy by themselves', () => {
  const manual = (stack: Stack) => {
    const { api, add } = httpApi(stack, { createDefaultStage: false })
    add('a')
    api.addStage('Prod', { stageName: 'prod', autoDeploy: false })
    return api
  }

  it('causes a warning if the app does not deploy it', () => {
    const { stack, limiter } = limited()
    limiter.protect(manual(stack))
    expect(printedFor(stack, 'warning')).toEqual([
      expect.stringContaining('a stage does not deploy by itself (Stack/Api/Prod/Resource)'),
    ])
  })

  it('is deployed again by a deployment in the app, after its routes', () => {
    const ids = [false, true].map((isProtected) => {
      const { stack, limiter } = limited()
      const api = manual(stack)
      new CfnHttpDeployment(stack, 'Mine', { apiId: api.apiId })
      if (isProtected) limiter.protect(api)
      const [id, { DependsOn = [] }] = only(resourcesIn(stack, 'AWS::ApiGatewayV2::Deployment'))
      const routes = resourcesIn(stack, 'AWS::ApiGatewayV2::Route').map(([route]) => route)
      if (isProtected) expect(DependsOn).toEqual(expect.arrayContaining(routes))
      expect(printedFor(stack, 'warning')).toEqual([])
      return id
    })
    expect(new Set(ids).size).toBe(2)
  })
})

describe('there is no moment without limits or with errors', () => {
  it('in a REST API: its deployment waits for the permission and the tiers', () => {
    const { stack, limiter } = limited({ tiersFile: 'tiers.yaml' })
    limiter.protect(restApi(stack).api, { as: 'shop' })
    const [id] = only(resourcesIn(stack, DEPLOYMENT))
    const wanted = [
      ...['AWS::Lambda::Permission', 'Custom::SluiceTiers', 'AWS::ApiGateway::Authorizer'],
      'Custom::SluiceConfigTables',
    ].flatMap((type) => resourcesIn(stack, type).map(([id]) => id))
    expect(waitedForBy(stack, id)).toEqual(expect.arrayContaining(wanted))
  })

  it('in an imported REST API: the deployment of its stage does', () => {
    const { stack, limiter } = limited({ tiersFile: 'tiers.yaml' })
    limiter.attachTo(RestApi.fromRestApiId(stack, 'Shop', 'a1b2c3d4e5'), { stageName: 'prod' })
    const [id] = only(resourcesIn(stack, DEPLOYMENT))
    const wanted = ['AWS::Lambda::Permission', 'Custom::SluiceTiers'].flatMap((type) =>
      resourcesIn(stack, type).map(([id]) => id),
    )
    expect(wanted).toHaveLength(2)
    expect(waitedForBy(stack, id)).toEqual(expect.arrayContaining(wanted))
  })

  it('in an HTTP API, whose routes are live at once: each route does', () => {
    const { stack, limiter } = limited({ tiersFile: 'tiers.yaml' })
    const { api, add } = httpApi(stack)
    add('a')
    limiter.protect(api)
    const [id] = only(resourcesIn(stack, 'AWS::ApiGatewayV2::Route'))
    const wanted = ['AWS::Lambda::Permission', 'Custom::SluiceTiers'].flatMap((type) =>
      resourcesIn(stack, type).map(([id]) => id),
    )
    expect(waitedForBy(stack, id)).toEqual(expect.arrayContaining(wanted))
  })

  it('the authorizer that requests meet moves to a new function after all that', () => {
    const { stack, limiter } = limited({ tiersFile: 'tiers.yaml' })
    limiter.protect(restApi(stack).api)
    const [id] = only(resourcesIn(stack, 'AWS::ApiGateway::Authorizer'))
    const [check] = only(resourcesIn(stack, 'Custom::SluiceConfigTables'))
    const [tiers] = only(resourcesIn(stack, 'Custom::SluiceTiers'))
    expect(waitedForBy(stack, id)).toEqual(expect.arrayContaining([check, tiers]))
    expect(waitedForBy(stack, tiers)).toContain(check)
  })

  it('in an API of another stack: that stack waits for the limiter’s', () => {
    const { app, stack, limiter } = limited({ tiersFile: 'tiers.yaml' })
    const other = new Stack(app, 'Other')
    const api = new HttpApi(other, 'Api')
    api.addRoutes({ path: '/a', integration: new HttpUrlIntegration('I', 'https://example.com') })
    limiter.protect(api)
    app.synth()
    expect(other.dependencies).toEqual([stack])
  })
})
