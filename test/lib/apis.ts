import { App, Stack } from 'aws-cdk-lib'
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import { RestApi, type RestApiProps } from 'aws-cdk-lib/aws-apigateway'
import { HttpApi, type HttpApiProps, HttpMethod, type IHttpRouteAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUrlIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'

/** An app with one stack and a limiter in it. */
export function limited(props: RateLimiterProps = {}) {
  const app = new App()
  const stack = new Stack(app, 'Stack')
  return { app, stack, limiter: new RateLimiter(stack, 'Limiter', props) }
}

/** A REST API with `GET /` and `GET /orders/{id}`. */
export function restApi(stack: Stack, props: RestApiProps = {}) {
  const api = new RestApi(stack, 'Api', { cloudWatchRole: false, ...props })
  const get = api.root.addMethod('GET')
  const order = api.root.addResource('orders').addResource('{id}').addMethod('GET')
  return { api, get, order }
}

/** An HTTP API, and what adds a route with an integration of its own to it. */
export function httpApi(stack: Stack, props: HttpApiProps = {}) {
  const api = new HttpApi(stack, 'Api', props)
  const add = (path: string, method = HttpMethod.GET, authorizer?: IHttpRouteAuthorizer) => {
    const integration = new HttpUrlIntegration(`${path}Integration`, `https://example.com/${path}`)
    return api.addRoutes({ path: `/${path}`, methods: [method], integration, authorizer })[0]!
  }
  return { api, add }
}

type Level = 'error' | 'warning' | 'info'

/** What a synth prints of a stack, without the warning about concurrency, which all limiters here have. */
export function printedFor(stack: Stack, level: Level): string[] {
  const all = Annotations.fromStack(stack)
  const found = { error: all.findError, warning: all.findWarning, info: all.findInfo }[level].call(
    all,
    '*',
    Match.anyValue(),
  )
  return found.map(({ entry }) => String(entry.data)).filter((text) => !text.includes('sluice:reservedConcurrency'))
}

/** The authorization of each method or route, by `GET /path` or the route's key. */
export function authorizationIn(stack: Stack): Record<string, string> {
  const template = Template.fromStack(stack)
  const routes = Object.values(template.findResources('AWS::ApiGatewayV2::Route')).map(({ Properties }) => [
    Properties.RouteKey,
    Properties.AuthorizationType,
  ])
  const resources = template.findResources('AWS::ApiGateway::Resource')
  const pathOf = (id: { readonly Ref?: string }): string => {
    const path = id.Ref === undefined ? undefined : resources[id.Ref]?.Properties
    return path ? `${pathOf(path.ParentId)}/${path.PathPart}` : ''
  }
  const methods = Object.values(template.findResources('AWS::ApiGateway::Method')).map(({ Properties }) => [
    `${Properties.HttpMethod} ${pathOf(Properties.ResourceId) || '/'}`,
    Properties.AuthorizationType,
  ])
  return Object.fromEntries([...routes, ...methods])
}

/** Logical ids and contents of a stack's resources of one type. */
export const resourcesIn = (stack: Stack, type: string) =>
  Object.entries(Template.fromStack(stack).findResources(type)) as [
    string,
    { readonly Properties: Record<string, unknown>; readonly DependsOn?: string[]; readonly Metadata?: object },
  ][]

/** The logical ids of everything that exists before CloudFormation touches a resource of a stack. */
export function waitedForBy(stack: Stack, id: string): string[] {
  const { Resources } = Template.fromStack(stack).toJSON() as { Resources: Readonly<Record<string, object>> }
  const found = new Set<string>()
  const follow = (from: string) => {
    const text = JSON.stringify(Resources[from])
    const names = text.matchAll(/"([A-Za-z\d]+)"/g) // of Ref, Fn::GetAtt and DependsOn alike
    for (const [, name] of names) {
      if (!Object.hasOwn(Resources, name!) || found.has(name!)) continue
      found.add(name!)
      follow(name!)
    }
  }
  follow(id)
  return [...found]
}
