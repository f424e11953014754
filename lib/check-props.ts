import { Stack, Token } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { ConfigError, Mistake, printed } from '../limiter/errors'
import { vpcOf } from './function-parts'
import type { RateLimiterProps } from './rate-limiter-props'
import { releaseMistakes } from './release'

type Prop = keyof RateLimiterProps

/** Props of a resource that is created, and the prop that passes an existing one instead. */
const EXCLUDED: readonly (readonly [Prop, readonly Prop[]])[] = [
  ['stateTable', ['stateBilling', 'stateTableName', 'statePointInTimeRecovery']],
  ['configTable', ['configBilling', 'configTableName', 'configPointInTimeRecovery', 'configDeletionProtection']],
  ['logGroup', ['logRetention', 'logRemovalPolicy']],
]

/** @throws ConfigError with all props that contradict each other, and tables that the function could not find. */
export function checkProps(scope: Construct, props: RateLimiterProps): void {
  const { path } = scope.node
  const issues = EXCLUDED.flatMap(([given, made]) =>
    props[given] === undefined ? [] : made.filter((prop) => props[prop] !== undefined).map((prop) => [given, prop]),
  ).map(([a, b]) => new Mistake('fields_conflict', `${a} and ${b} exclude each other, got both (${path})`))
  if (props.stateTable && props.configTable)
    for (const prop of ['encryptionKey', 'removalPolicy'] as const)
      if (props[prop] !== undefined)
        issues.push(
          new Mistake(
            'fields_conflict',
            `${prop} is for tables that are made, got stateTable and configTable (${path})`,
          ),
        )
  for (const prop of ['vpcSubnets', 'securityGroups'] as const)
    if (props[prop] !== undefined && !vpcOf(props))
      issues.push(new Mistake('missing_field', `${prop} needs vpc, got none (${path})`))
  const { seed, configTableLoss } = props as { readonly seed?: unknown; readonly configTableLoss?: unknown }
  if (configTableLoss !== undefined && configTableLoss !== 'refuse' && configTableLoss !== 'accept')
    issues.push(
      new Mistake(
        'invalid_value',
        `configTableLoss must be "refuse" or "accept", got ${printed(configTableLoss)} (${path})`,
      ),
    )
  if (seed !== undefined && seed !== 'keep-edits' && seed !== 'authoritative')
    issues.push(
      new Mistake('invalid_value', `seed must be "keep-edits" or "authoritative", got ${printed(seed)} (${path})`),
    )
  if (seed === 'authoritative' && props.tiers === undefined && props.tiersFile === undefined)
    issues.push(
      new Mistake(
        'missing_field',
        `seed: "authoritative" needs tiers or tiersFile, got neither (${path}): the table would be emptied`,
      ),
    )
  const reserved = props.functionOptions?.reservedConcurrentExecutions ?? props.reservedConcurrentExecutions
  if (props.release) issues.push(...releaseMistakes(props.release, reserved, path))
  for (const prop of ['stateTable', 'configTable'] as const)
    issues.push(...elsewhere(prop, props[prop]?.env, Stack.of(scope), path))
  if (issues.length > 0) throw new ConfigError(issues)
}

/** @throws ConfigError for an API that the limiter cannot protect: no permission reaches that far. */
export function checkApiPlace(api: Construct, limiter: Stack): void {
  const issues = elsewhere('api', Stack.of(api), limiter, api.node.path)
  if (issues.length > 0) throw new ConfigError(issues)
}

/** Why a resource is out of a limiter's reach, as far as both places are known at synth. */
function elsewhere(
  prop: string,
  place: { readonly account: string; readonly region: string } | undefined,
  limiter: Stack,
  path: string,
): Mistake[] {
  if (!place) return []
  return (['region', 'account'] as const).flatMap((part) => {
    const [there, here] = [place[part], limiter[part]]
    if (there === here || Token.isUnresolved(there) || Token.isUnresolved(here)) return []
    const wanted = `${prop} must be in the limiter’s ${part === 'region' ? 'Region' : 'account'}, ${printed(here)}`
    const other = prop === 'api' && part === 'account' ? '; for APIs of other accounts see shareWith()' : ''
    return [new Mistake('invalid_value', `${wanted}, got ${printed(there)} (${path})${other}`)]
  })
}
