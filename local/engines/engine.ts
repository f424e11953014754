/** A running DynamoDB engine. */
export interface Engine {
  /** As printed to the user. */
  readonly name: string
  /** URL for the SDK's `endpoint`. */
  readonly endpoint: string
  /** Stops what this process started, and nothing else. Safe to call twice. */
  stop(): Promise<void>
}

/** Where an engine listens. */
export interface EngineAddress {
  readonly host: string
  readonly port: number
}

/** Engines that come with the package. */
export const ENGINE_NAMES = ['dynoxide', 'dynalite'] as const
export type EngineName = (typeof ENGINE_NAMES)[number]
