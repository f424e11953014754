import { Annotations, type CfnResource, type IResolvable, Lazy, Stack } from 'aws-cdk-lib'
import type { CfnRestApi, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import { Construct } from 'constructs'
import { ConfigError, Mistake } from '../../limiter/errors'
import { ACCESS_DENIED, DEFAULT_4XX, mergeOver } from '../../provisioning/gateway-response'
import type { LabelOptions } from '../seed/label-resource'
import { functionUri, type ProtectingLimiter, permitCalls } from './call-permission'
import { nothingToProtect, reportSkipped } from './check-binding'
import { definitionOf, unreadableHelp } from './definition'
import { Deployments, isDeployment, warnOfNoDeployment } from './deployments'
import { gatewayResponsesOf, headersOf, tooManyRequestsResponse } from './gateway-response'
import {
  type DocumentProtection,
  fragmentOf,
  type ProtectedDocument,
  protectDocument,
  unlimitedIn,
} from './protect-document'
import { isRoute, routeName } from './route-name'
import { Selection, type SelectionOptions } from './selection'
import { synthesised } from './synthesised'
import { tooLargeFor } from './template-size'
import { watchApi } from './watch-api'

/** How `protect` protects a REST API that is made from an OpenAPI document. */
export interface ProtectSpecRestApiOptions extends LabelOptions, SelectionOptions {}

/**
 * The limiter in the document of a REST API: the authorizer, the 429, and `security` at each operation. The API and its
 * deployment are those that the app made.
 */
export class SpecRestApiProtection extends Construct {
  /** @internal */
  readonly deployments: Deployments
  private readonly selection: Selection
  /** Methods that the app adds to the API as resources, which only an authorizer with an id could protect. */
  private readonly beside = new Map<CfnResource, string>()
  private readonly answers429: boolean

  constructor(
    private readonly api: SpecRestApi,
    private readonly limiter: ProtectingLimiter,
    options: ProtectSpecRestApiOptions,
  ) {
    checkOptions(api, options)
    const stack = Stack.of(api)
    const definition = definitionOf(api, () => fragmentOf(fragmentFor(api, limiter)))
    super(api, 'Sluice')
    this.selection = new Selection({ prop: 'methods' }, options)
    const [response] = gatewayResponsesOf(api, ACCESS_DENIED.type)
    this.answers429 = response === undefined
    if (response) tooManyRequestsResponse(this, api)

    const resource = api.node.defaultChild as CfnRestApi
    const inTemplate = (part: (made: ProtectedDocument) => unknown): IResolvable =>
      Lazy.uncachedAny({ produce: (context) => part(this.protect(context.resolve(definition))) })
    const body = inTemplate(({ document }) => document)
    resource.body = body
    resource.bodyS3Location = undefined
    for (const name of ['aws:asset:path', 'aws:asset:property']) delete resource.cfnOptions.metadata?.[name]
    resource.addMetadata(
      'sluice:skipped',
      inTemplate(({ skipped }) => (skipped.length > 0 ? skipped : undefined)),
    )
    resource.node.addDependency(...limiter.seeds) // an API whose limiter is not seeded stays with what it had

    const before = permitCalls(this, limiter, api.restApiId, '*')
    this.deployments = new Deployments([...before, ...(response ? [response] : [])], () => [
      this.node.addr,
      body,
      ...limiter.called,
    ])
    watchApi(api, api.restApiId, (found) => {
      if (isDeployment(found)) this.deployments.add(found)
      else if (isRoute(found)) this.beside.set(found, routeName(found, api))
    })
    this.node.addValidation({ validate: () => this.check(this.protect(stack.resolve(definition))) })
  }

  private protect(document: unknown): ProtectedDocument {
    return protectDocument(document, this.protection())
  }

  private protection(): DocumentProtection {
    const { api, limiter, answers429, selection } = this
    return {
      authorizerUri: functionUri(this, limiter.handler),
      authorizerCredentials: limiter.invokeRole?.roleArn,
      answers429,
      inherited: gatewayResponsesOf(api, DEFAULT_4XX).map(headersOf).reduce(mergeOver, {}),
      choose: (name, authorizationType) => selection.choose({ authorizationType }, name),
    }
  }

  /** Reports what the protection did, and returns what is wrong with it after all aspects, a sentence each. */
  private check({ document, limited, skipped, replaced, unreadable, mistakes }: ProtectedDocument): string[] {
    const { api, answers429 } = this
    const noun = 'method'
    if (unreadable.length > 0) {
      const help = unreadableHelp(fragmentOf(fragmentFor(api, this.limiter)))
      return [`protect() cannot read the document of ${api.node.path}: ${unreadable.join('; ')}. ${help}`]
    }
    warnOfNoDeployment(this, api, this.deployments)
    reportSkipped({ scope: this, api, noun, limited: limited.length, skipped, answers429: true })
    if (replaced.length > 0)
      Annotations.of(this).addInfo(
        `protect() replaces in the document’s ${ACCESS_DENIED.type} response, which answers denials: ${replaced.join(', ')}`,
      )
    const beside = [...this.beside.values()].filter((name) => !this.selection.excepts(name))
    return [
      ...mistakes,
      ...beside.map(
        (name) =>
          `protect() does not limit methods beside a document, got ${name}: put it into the document of ${api.node.path}, or name it in except`,
      ),
      ...this.selection.mistakes(),
      ...(limited.length > 0 || mistakes.length > 0 ? [] : [nothingToProtect(api, noun, `${noun}s`, skipped.length)]),
      ...(mistakes.length > 0 ? [] : this.changed()),
      ...(gatewayResponsesOf(api, ACCESS_DENIED.type).length > (answers429 ? 0 : 1)
        ? [`an API has one ${ACCESS_DENIED.type} gateway response: add yours before protect(), which then extends it`]
        : []),
      ...tooLargeFor(api, document),
    ]
  }

  /** Operations that something took the limiter from afterwards. */
  private changed(): string[] {
    const { api } = this
    const { authorizerUri, authorizerCredentials, ...rest } = this.protection()
    const uri = Stack.of(api).resolve({ authorizerUri, authorizerCredentials }) as typeof rest & DocumentProtection
    const { Body } = synthesised(api.node.defaultChild as CfnRestApi)
    const open = Body === undefined ? ['there is no document'] : unlimitedIn(Body, { ...rest, ...uri })
    if (open.length === 0) return []
    return [
      `protect() put the limiter into the document of ${api.node.path}, and something changed that afterwards: ${open.join(', ')} ` +
        'would not be limited. Leave them out by except, or do not change them, for example by an override',
    ]
  }
}

/** As the author of another document has to write it: functions of CloudFormation are not known everywhere. */
function fragmentFor(api: SpecRestApi, { handler }: ProtectingLimiter): DocumentProtection {
  const uri = Stack.of(api).resolve(functionUri(api, handler)) as unknown
  const authorizerUri =
    typeof uri === 'string'
      ? uri
      : 'arn:aws:apigateway:<region>:lambda:path/2015-03-31/functions/<ARN of the limiter’s function>/invocations'
  return { authorizerUri, answers429: true, inherited: {}, choose: () => 'protect' }
}

/** @throws ConfigError for options of other kinds of API: nobody may believe that they apply. */
function checkOptions(api: SpecRestApi, options: object): void {
  if (!('methods' in options) || options.methods === undefined) return
  throw new ConfigError([
    new Mistake(
      'field_not_applicable',
      `methods is for a RestApi, whose methods are constructs: name methods of a document in except (${api.node.path})`,
    ),
  ])
}
