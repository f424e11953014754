import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Io } from '../../cli/terminal/io'
import type { Sample } from '../../pages/console/protocol'
import type { TiersFile } from '../../provisioning/tiers-file'
import type { GuardedEngine } from '../engines/guarded-engine'
import type { BackendCalls } from '../gateway/backend-calls'

/** The console's view of its gateway. */
export interface ConsoleOptions {
  /** DynamoDB: for commands, and for the authorizers. */
  readonly engine: Pick<GuardedEngine, 'endpoint' | 'direct'>
  readonly client: DynamoDBClient
  readonly env: Io['env']
  readonly tiers: TiersFile
  /** The header of an API key; `null` if the tiers read none. */
  readonly keyHeader: string | null
  readonly api: 'rest' | 'http'
  readonly samples: readonly Sample[]
  readonly instances: number
  readonly calls: BackendCalls
  /** Replaces the authorizer instances by new ones, which use `endpoint` and the current tiers. */
  readonly replaceInstances: () => Promise<void>
  readonly port: () => number
}
