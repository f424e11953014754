import { CfnQueryDefinition, type ILogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import type { LogEvent } from '../../lambda/telemetry/events'
import { deployedStackOf } from './deployed-stack'

const named = (...events: LogEvent[]): string => events.map((event) => `"${event}"`).join(', ')

/** The logged lines, and the numbers of omitted ones in them. */
const LINES = 'count(*) as lines, sum(leftOut) as notLogged'

/** Queries of the authorizer's log, by name. */
export const QUERIES = {
  'who was denied most': `filter event = "request_denied"
| stats sum(denials) as denied by subject, tier, policy, reason
| sort denied desc
| limit 20`,
  'which policies deny': `filter event = "request_denied"
| stats sum(denials) as denied, count_distinct(subject) as callers by tier, policy, reason, route
| sort denied desc
| limit 50`,
  'who was denied for the first time': `filter event = "request_denied"
| stats min(@timestamp) as firstDenied, sum(denials) as denied by subject, tier, policy
| sort firstDenied desc
| limit 50`,
  'decisions without the state table': `filter event in [${named('decision_without_store', 'decision_failed', 'circuit_opened')}]
| stats ${LINES} by event, failure, error, tier, policy, bin(5m)
| sort lines desc`,
  'mistakes in the config table': `filter event in [${named(
    'config_item_invalid',
    'config_items_conflict',
    'client_invalid',
    'client_overrides_invalid',
    'state_collision',
    'last_valid_used',
    'hmac_key_missing',
    'signing_key_missing',
  )}]
| stats max(@timestamp) as lastSeen, ${LINES} by event, item, client, issues.0.message
| sort lastSeen desc`,
} as const

/** Saved queries of a limiter's log, see `addQueries`. */
export class LimiterQueries extends Construct {
  constructor(scope: Construct, id: string, logGroup: ILogGroup) {
    super(scope, id)
    const stack = deployedStackOf(this)
    const path = scope.node.path.slice(stack.node.path.length).replace(/^\//, '')
    for (const [name, queryString] of Object.entries(QUERIES))
      new CfnQueryDefinition(
        this,
        name.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase()),
        {
          name: `Sluice/${stack.stackName}/${path}/${name}`.slice(0, 255),
          queryString,
          logGroupNames: [logGroup.logGroupName],
        },
      )
  }
}
