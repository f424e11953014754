import { readFileSync } from 'node:fs'
import { Annotations, CfnOutput, CustomResource, Stack, Token } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { parse } from 'yaml'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { checkNoneRequired } from '../../lambda/config-table/items/policy-set-checks'
import { SIGNING_RING } from '../../lambda/config-table/items/signing-keys'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import { ConfigError, Mistake, printed } from '../../limiter/errors'
import { AUDIT_PARTITION } from '../../provisioning/audit-partition'
import { neverPassing, splitTiers } from '../../provisioning/region-shares'
import type { RegionShares } from '../../provisioning/shares-by-region'
import { checkTiersFile, itemsOf, type TiersFile } from '../../provisioning/tiers-file'
import type { AuthorizerFunctionOptions } from '../authorizer-options'
import { checkable, type IdentitySource, identityOf } from '../identity'
import { tiersInCode } from '../tiers-in-code'
import type { TiersInCode } from '../tiers-props'
import { SERVICE_TIMEOUT, type SeedFunction } from './seed-function'
import { SEED_PARTITION } from './seed-partition'

export interface TiersSeedProps extends Pick<AuthorizerFunctionOptions, 'authentication'>, TiersInCode {
  /**
   * A YAML or JSON file, relative to where the synth runs.
   * @default no tiers, no routes
   */
  readonly tiersFile?: string
  /**
   * Whether edits of others are undone by a deployment that changes the tiers.
   * @default 'keep-edits'
   */
  readonly seed?: 'keep-edits' | 'authoritative'
  /**
   * The sources of identity.
   * @default the file's
   */
  readonly identity?: IdentitySource | readonly IdentitySource[]
  /** @default full limits in each Region */
  readonly regionShares?: RegionShares
}

const SEEDED = ['tiersFile', 'identity', 'tiers', 'routes', 'global', 'settings', 'regionShares'] as const

/** Whether these props make a deployment write anything. */
export const hasSeed = (props: TiersSeedProps): boolean => SEEDED.some((prop) => props[prop] !== undefined)

/** CloudFormation hands a function at most 256 KB, the rest of its request included. */
const MAX_CHARACTERS = 200_000

/**
 * Writes a tiers file into the config table at each deployment that changes the file. Each tier and route is written if
 * it does not exist or was not edited since the last deployment. Edits of operators and items that are no longer in the
 * file are kept, also when the stack is deleted.
 *
 * With authority, the table is made to match the file, and others' edits are undone; clients, blocks, labels and the
 * switch stay out of its reach.
 *
 * The first deployment creates the secret under which subjects are stored, unless the table is already in use, and the
 * one with which API keys are signed, unless there is one.
 *
 * @param after what has to succeed first.
 */
export function seedTiers(seed: SeedFunction, props: TiersSeedProps, after: readonly Construct[]): CustomResource {
  const items = itemsFrom(seed, props)
  const isAuthoritative = props.seed === 'authoritative'
  const removing = isAuthoritative ? ['dynamodb:DeleteItem'] : []
  seed.grant(['dynamodb:Query'], CONFIG_TABLE.policySet, SEED_PARTITION)
  // The partitions of one transaction are in one statement, since it is unknown whether IAM checks each item's key or
  // all of them.
  seed.grant(['dynamodb:PutItem', ...removing], CONFIG_TABLE.policySet, SEED_PARTITION, AUDIT_PARTITION)
  if (isAuthoritative) seed.grantReadingOfTiers()
  // it may write the deployment's secrets, but not read them
  seed.grant(['dynamodb:PutItem'], HMAC_RING.name, SIGNING_RING.name, AUDIT_PARTITION)
  const resource = new CustomResource(seed, 'Items', {
    resourceType: 'Custom::SluiceTiers',
    serviceToken: seed.handler.functionArn,
    serviceTimeout: SERVICE_TIMEOUT,
    properties: {
      TableName: seed.configTable.tableName,
      Items: items.map((item) => Stack.of(seed).toJsonString(item)),
      ...(isAuthoritative && { Seed: 'authoritative' }),
      // Set here, so that a resource of an older version is updated once and answers with it.
      Reports: isAuthoritative ? ['Kept', 'Undone'] : ['Kept'],
    },
  })
  resource.node.addDependency(seed.role, ...after)
  new CfnOutput(seed, 'Kept', {
    description:
      'items of the config table that differ from the tiers of the app and were kept: sluice history shows who edited them',
    value: resource.getAttString('Kept'),
  })
  if (isAuthoritative)
    new CfnOutput(seed, 'Undone', {
      description:
        'edits of the config table that the last change of the code undid; the log of the seed function has them in full',
      value: resource.getAttString('Undone'),
    })
  return resource
}

/**
 * @throws ConfigError with every mistake in the file or in the identity, so that none of them gets as far as a
 * deployment.
 */
function itemsFrom(scope: Construct, props: TiersSeedProps) {
  const { tiersFile, identity: sources, authentication } = props
  const identity = sources === undefined ? undefined : identityOf(sources)
  const inCode = tiersInCode(props)
  if (tiersFile === undefined && !inCode) {
    if (props.regionShares)
      throw new ConfigError([new Mistake('missing_field', 'regionShares needs tiersFile or tiers, got neither')])
    return itemsOf({ tiers: {}, settings: { identity } })
  }
  const path = tiersFile ?? 'tiers'
  const file = withIdentity(inCode ?? read(path), identity, path)
  const set = checkTiersFile(checkable(file), path)
  const issues: Mistake[] = []
  if (authentication === 'none') checkNoneRequired(set, [path], issues)
  if (issues.length > 0) throw new ConfigError(issues)
  const items = itemsOf(ofRegion(scope, file as TiersFile, props.regionShares, path))
  const length = JSON.stringify(items).length
  if (length > MAX_CHARACTERS)
    throw new ConfigError([
      new Mistake(
        'too_many',
        `the tiers must be at most ${MAX_CHARACTERS} characters long as JSON, got ${length} (${path})`,
      ),
    ])
  return items
}

/** The part of a file for the Region of the stack. */
function ofRegion(scope: Construct, file: TiersFile, shares: RegionShares | undefined, path: string): TiersFile {
  if (!shares) return file
  const { region } = Stack.of(scope)
  const wanted = `regionShares must have the Region of the limiter’s stack`
  if (Token.isUnresolved(region))
    throw new ConfigError([new Mistake('missing_field', `${wanted}, got a stack without one: set env.region`)])
  const files = splitTiers(file, shares, path)
  const part = files[region]
  if (!part)
    throw new ConfigError([
      new Mistake('missing_field', `${wanted}, ${printed(region)}, got ${Object.keys(shares).join(', ')}`),
    ])
  // rules that full limits meet, their parts may not
  for (const [name, one] of Object.entries(files)) checkTiersFile(checkable(one), `${path} for ${name}`)
  for (const warning of neverPassing(file, part, region))
    Annotations.of(scope).addWarningV2('sluice:regionShares', warning)
  return part
}

/**
 * A file with the identity of a prop, unless it has one of its own. Anything that is not a tiers file is returned
 * unchanged, to be reported later.
 */
function withIdentity(file: unknown, identity: readonly IdentitySource[] | undefined, path: string): unknown {
  if (identity === undefined || typeof file !== 'object' || file === null) return file
  const { settings = {} } = file as { settings?: unknown }
  if (typeof settings !== 'object' || settings === null) return file
  if ('identity' in settings)
    throw new ConfigError([
      new Mistake(
        'fields_conflict',
        `identity must be set once, by the prop or in the settings beside the tiers, got both (${path})`,
      ),
    ])
  return { ...file, settings: { ...settings, identity } }
}

function read(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigError([
      new Mistake('invalid_file', `tiersFile must be a YAML file, got ${(error as Error).message} (${path})`),
    ])
  }
}
