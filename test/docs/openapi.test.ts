import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ACCESS_DENIED, ACCESS_DENIED_PARAMETERS } from '../../provisioning/gateway-response'
import { RESPONSE_MAPPING } from '../../provisioning/response-mapping'
import { examplesIn, pageOf } from './examples'

const example = (path: string) =>
  parse(readFileSync(join(__dirname, '..', '..', 'examples', path), 'utf8'), { logLevel: 'silent' })
const template = (name: string, file = 'template.yaml') => example(`${name}/${file}`).Resources.Api.Properties

/** A 429's body when every variable is a text. */
const bodyOf = (templates: Record<string, string>) => JSON.parse(templates['application/json']!)

describe.each([
  ['docs/deploy.md', parse(examplesIn(pageOf('deploy.md'), 'yaml')[0]!, { logLevel: 'silent' })],
  ['examples/openapi', template('openapi').Body],
])('the OpenAPI document of %s', (_, document) => {
  it('asks about every request, remembers no answer, and names no identity source', () => {
    const scheme = document.components.securitySchemes.sluice
    expect(scheme['x-amazon-apigateway-authtype']).toBe('custom')
    expect(scheme['x-amazon-apigateway-authorizer']).toMatchObject({ type: 'request', authorizerResultTtlInSeconds: 0 })
    expect(scheme['x-amazon-apigateway-authorizer']).not.toHaveProperty('identitySource')
    expect(document.security).toBeUndefined()
    expect(document.paths['/orders'].get.security).toEqual([{ sluice: [] }])
    expect(document.paths['/health']?.get.security).toBeUndefined()
  })

  it('answers a denial as the construct does', () => {
    const response = document['x-amazon-apigateway-gateway-responses'][ACCESS_DENIED.type]
    expect(response.statusCode).toBe(ACCESS_DENIED.statusCode) // a string, as AWS documents it
    expect(response.responseParameters).toEqual(ACCESS_DENIED_PARAMETERS)
    expect(bodyOf(ACCESS_DENIED.templates)).toMatchObject(bodyOf(response.responseTemplates))
  })
})

const openapi = (file: string) => readFileSync(join(__dirname, '..', '..', 'examples', 'openapi', file), 'utf8')

describe.each([
  ['docs/deploy.md', examplesIn(pageOf('deploy.md'), 'yaml').join('\n')],
  ['examples/openapi', openapi('template.yaml')],
  ['examples/openapi, of an HTTP API', openapi('http-api.yaml')],
])('the permission in %s', (_, text) => {
  it('is for one authorizer', () => {
    expect(text.match(/\/authorizers\/\S+/g)).toEqual([`/authorizers/$${'{AuthorizerId}'}`])
  })
})

describe('the SAM template of examples/sam', () => {
  it('asks about every request, remembers no answer, and names an identity that every request has', () => {
    const { DefaultAuthorizer, Authorizers } = template('sam').Auth
    expect(Authorizers[DefaultAuthorizer]).toMatchObject({
      FunctionPayloadType: 'REQUEST',
      Identity: { Context: ['path'], ReauthorizeEvery: 0 },
    })
  })

  it('answers a denial as the construct does', () => {
    const response = template('sam').GatewayResponses[ACCESS_DENIED.type]
    expect(response.StatusCode).toBe(ACCESS_DENIED.statusCode)
    expect(response.ResponseParameters.Headers).toEqual(ACCESS_DENIED.headers)
    expect(bodyOf(ACCESS_DENIED.templates)).toMatchObject(bodyOf(response.ResponseTemplates))
  })
})

describe('HTTP APIs', () => {
  const asked = {
    authorizerPayloadFormatVersion: '2.0',
    enableSimpleResponses: true,
    authorizerResultTtlInSeconds: 0,
  }

  it('of an OpenAPI document ask about every request, remember no answer, and name no identity source', () => {
    const { components, paths } = template('openapi', 'http-api.yaml').Body
    const { authorizerUri: _, ...authorizer } = components.securitySchemes.sluice['x-amazon-apigateway-authorizer']
    expect(authorizer).toEqual({ type: 'request', ...asked })
    expect(paths['/items'].get.security).toEqual([{ sluice: [] }])
    expect(paths['/health'].get.security).toBeUndefined()
  })

  it('of SAM do so, too', () => {
    const { DefaultAuthorizer, Authorizers } = template('sam', 'http-api.yaml').Auth
    expect(Authorizers[DefaultAuthorizer]).toMatchObject({
      AuthorizerPayloadFormatVersion: '2.0',
      EnableSimpleResponses: true,
      Identity: { ReauthorizeEvery: 0 },
    })
  })
})

// test/slow/templates.test.ts looks at what the framework makes of it.
describe('the service of examples/serverless', () => {
  it('answers a denial as the construct does', () => {
    const { Properties } = example('serverless/serverless.yml').resources.Resources.TooManyRequests
    expect(Properties).toMatchObject({
      ResponseType: ACCESS_DENIED.type,
      StatusCode: ACCESS_DENIED.statusCode,
      ResponseParameters: ACCESS_DENIED_PARAMETERS,
    })
    expect(bodyOf(ACCESS_DENIED.templates)).toMatchObject(bodyOf(Properties.ResponseTemplates))
  })
})

// test/slow/terraform.test.ts compares all of the modules, where they are applied.
describe('the Terraform modules', () => {
  const assignmentsIn = (path: string) =>
    readFileSync(join(__dirname, '..', '..', 'terraform', path), 'utf8').replace(/ +=/g, ' =')
  const lines = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`)

  it('answer a denial of a REST API as the construct does', () => {
    const text = assignmentsIn('rest-api/main.tf')
    for (const line of lines({ ...ACCESS_DENIED_PARAMETERS, ...ACCESS_DENIED.templates })) expect(text).toContain(line)
    expect(text.match(/"gatewayresponse\.header\.[\w-]+" =/g)).toHaveLength(
      Object.keys(ACCESS_DENIED_PARAMETERS).length,
    )
  })

  it('add the headers to responses of an HTTP API that the construct adds', () => {
    const text = assignmentsIn('http-api/main.tf')
    for (const line of lines(RESPONSE_MAPPING)) expect(text).toContain(line)
    expect(text.match(/"overwrite:header\.[\w-]+" =/g)).toHaveLength(Object.keys(RESPONSE_MAPPING).length)
  })
})
