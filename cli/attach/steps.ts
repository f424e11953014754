import type { ApiState, Authorization, GatewayResponse, Integration } from './api-state'
import type { Change } from './three-way'

/** One change to an API, with the state before it: all that reverting it needs. */
export type Step =
  /** The fields of the API's item in the config table; no `before`: there was none. */
  | {
      readonly kind: 'label'
      readonly before?: Readonly<Record<string, unknown>>
      readonly after: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'authorizer'; readonly id?: string }
  | { readonly kind: 'permission'; readonly statementId?: string }
  | ({ readonly kind: 'gateway-response' } & Change<GatewayResponse>)
  | {
      readonly kind: 'method'
      readonly key: string
      readonly before: Authorization
      /** Whether it requires an API key; steps of older versions do not say. */
      readonly apiKeyRequired?: boolean
      /** How Sluice does the check of the earlier authorizer. */
      readonly kept?: string
      /** Which check is lost, as allowed with `--open`. */
      readonly lost?: string
    }
  | ({ readonly kind: 'integration'; readonly id: string } & Change<Integration['responseParameters']>)
  /**
   * `pending`: others' edits that went live with it, as far as they could be seen; `closed`: methods that got an
   * authorization of others with it.
   */
  | {
      readonly kind: 'deployment'
      readonly stage: string
      readonly before?: string
      readonly pending: readonly string[]
      readonly closed?: readonly string[]
    }

export type LabelStep = Extract<Step, { kind: 'label' }>
export type MethodStep = Extract<Step, { kind: 'method' }>
export type IntegrationStep = Extract<Step, { kind: 'integration' }>

/** One API that this Sluice was attached to. */
export interface Attachment {
  /** Marks the deployments of this attachment. */
  readonly id: string
  readonly apiId: string
  readonly apiKind: ApiState['kind']
  readonly apiName: string
  readonly functionArn: string
  /** `attached`, or what is in progress. An interrupted run leaves `attaching` or `detaching`. */
  readonly phase: 'attaching' | 'attached' | 'detaching'
  readonly startedAt: string
  /** Which methods it is for: those that there are and will be, or some. */
  readonly methods: 'all' | readonly string[]
  /** What each stage served when it began. */
  readonly stages: Readonly<Record<string, string>>
  /**
   * When the newest deployment before all of this was made, by API Gateway's clock, in epoch milliseconds; 0 when there
   * was none.
   */
  readonly newestDeploymentAt: number
}

export interface AttachJournal {
  readonly attachment: Attachment
  readonly steps: readonly Step[]
}

/** What was there before a method was switched. */
export const notedMethod = ({ steps }: AttachJournal, key: string): MethodStep | undefined =>
  steps.flatMap((step) => (step.kind === 'method' && step.key === key ? [step] : []))[0]

/** The id of the authorizer that attach made; it may be gone, or never have been. */
export const notedAuthorizer = ({ steps }: AttachJournal): string | undefined =>
  steps.find((step) => step.kind === 'authorizer')?.id

/** By which a deployment is known as made by an attachment, or by its end. */
export const attachMark = ({ id }: Attachment): string => `sluice attach ${id}`
export const detachMark = ({ id }: Attachment): string => `sluice detach ${id}`
