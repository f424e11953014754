import type { Authorization, GatewayResponse, Integration, Method } from './api-state'

/** One change that detach makes. */
export type RevertStep =
  | { readonly kind: 'method'; readonly method: Method; readonly to: Authorization }
  | { readonly kind: 'integration'; readonly integration: Integration; readonly to: Integration['responseParameters'] }
  | { readonly kind: 'gateway-response'; readonly to: GatewayResponse }
  | { readonly kind: 'authorizer'; readonly id: string }
  /** `from`: the stage's deployment now. `to`: its deployment from before; `undefined`: a new one has to be created. */
  | {
      readonly kind: 'deployment'
      readonly stage: string
      readonly from: string | undefined
      readonly to: string | undefined
    }
  | { readonly kind: 'permission'; readonly statementId: string }
  | { readonly kind: 'own-deployment'; readonly id: string }
  /** The label from before attach is restored. */
  | { readonly kind: 'label'; readonly label: string }

/** The methods after all steps. */
export function methodsAfter(methods: readonly Method[], reverts: readonly RevertStep[]): Method[] {
  const back = new Map(reverts.flatMap((step) => (step.kind === 'method' ? [[step.method.key, step.to] as const] : [])))
  return methods.map((method) => ({ ...method, authorization: back.get(method.key) ?? method.authorization }))
}
