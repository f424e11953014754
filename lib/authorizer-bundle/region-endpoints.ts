interface EndpointParams {
  readonly Endpoint?: string
  readonly Region?: string
  readonly UseFIPS?: boolean
  readonly UseDualStack?: boolean
}

/**
 * Domains of the partitions other than the commercial one, by the prefixes of their Regions; a test compares the list
 * with the SDK's.
 */
const SUFFIXES: readonly (readonly [prefix: string, suffix: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['us-iso-', 'c2s.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
]

/**
 * Replaces the SDK's endpoint rules, a twentieth of the bundle: a function calls DynamoDB in its own Region, or at the
 * configured endpoint.
 *
 * @see https://docs.aws.amazon.com/general/latest/gr/ddb.html
 */
export function defaultEndpointResolver({ Endpoint, Region = '', UseFIPS, UseDualStack }: EndpointParams) {
  if (Endpoint === undefined && (UseFIPS || UseDualStack)) {
    throw new Error(
      'FIPS and dual-stack endpoints are left out of the authorizer bundle: set SLUICE_DYNAMODB_ENDPOINT to the one to use',
    )
  }
  const suffix = SUFFIXES.find(([prefix]) => Region.startsWith(prefix))?.[1] ?? 'amazonaws.com'
  return { url: new URL(Endpoint ?? `https://dynamodb.${Region}.${suffix}`), properties: {}, headers: {} }
}
