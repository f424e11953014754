import { UserError } from '../exit'
import {
  type ApiControl,
  type ApiState,
  authorizationText,
  type GatewayResponse,
  type Integration,
  isSameMethod,
  type Method,
} from './api-state'
import { isSameMappings, isSameParts } from './three-way'

/** Somebody else changed what a step was about to change. Their version stays. */
export class ApiChangedError extends UserError {
  constructor(what: string) {
    super(`${what}: it was changed meanwhile, so it was not overwritten`)
  }
}

/**
 * Reads again what the next call will change, because the plan was shown some time ago.
 *
 * API Gateway has no conditional update: an edit between this read and the following call is still overwritten.
 *
 * @throws UserError when it differs from what was shown.
 */
export class UnchangedCheck {
  constructor(
    private readonly control: ApiControl,
    private readonly shown: Pick<ApiState, 'authorizers' | 'gatewayResponse' | 'integrations'>,
  ) {}

  async method(shown: Method): Promise<void> {
    const now = await this.control.readMethod(shown)
    if (!now) throw new ApiChangedError(`${shown.key} is gone`)
    if (!isSameMethod(now, shown)) throw new ApiChangedError(this.textOf(now))
  }

  async response(): Promise<void> {
    const shown = this.shown.gatewayResponse as GatewayResponse
    const now = await this.control.readResponse()
    if (now.isDefault !== shown.isDefault || !isSameParts(now, shown))
      throw new ApiChangedError('gateway response ACCESS_DENIED differs')
  }

  async integration(shown: Integration): Promise<void> {
    const now = await this.control.readIntegration(shown.id)
    if (!now) throw new ApiChangedError(`integration ${shown.id} is gone`)
    if (!isSameMappings(now.responseParameters, shown.responseParameters))
      throw new ApiChangedError(`integration ${shown.id} differs`)
  }

  /** That no method uses an authorizer that is about to be deleted. */
  async unused(authorizerId: string): Promise<void> {
    const { methods } = await this.control.read()
    const user = methods.find(
      ({ authorization }) => authorization.type === 'CUSTOM' && authorization.authorizerId === authorizerId,
    )
    if (user) throw new ApiChangedError(`${user.key} uses authorizer ${authorizerId}`)
  }

  /** That a stage serves what it did, without a canary. */
  async stage(name: string, deploymentId: string | undefined): Promise<ApiState> {
    const now = await this.control.read()
    const stage = now.stages.find((one) => one.name === name)
    if (stage?.hasCanary) throw new ApiChangedError(`stage ${name} has a canary`)
    if (!stage || stage.deploymentId !== deploymentId)
      throw new ApiChangedError(`stage ${name} serves deployment ${stage?.deploymentId ?? 'none'}`)
    return now
  }

  /** That a deployment of a stage takes with it what was shown, and no edit that somebody made since. */
  async deployable(name: string, deploymentId: string | undefined, expected: readonly Method[]): Promise<void> {
    const { methods } = await this.stage(name, deploymentId)
    const shown = new Map(expected.map((method) => [method.key, method]))
    for (const now of methods) {
      const before = shown.get(now.key)
      if (!before || !isSameMethod(now, before)) throw new ApiChangedError(this.textOf(now))
      shown.delete(now.key)
    }
    for (const key of shown.keys()) throw new ApiChangedError(`${key} is gone`)
  }

  private textOf({ key, authorization, apiKeyRequired }: Method): string {
    return `${key} has ${authorizationText(authorization, this.shown.authorizers)}${apiKeyRequired ? ' and requires an API key' : ''}`
  }
}
