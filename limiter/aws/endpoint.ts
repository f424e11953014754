import { invalidValue, printed } from '../errors'

/**
 * Domains of each partition, by the prefix of its Regions: the ordinary one and that of dual-stack endpoints. The last
 * one is everybody else's; tests compare the list with the SDK's.
 */
const PARTITIONS: readonly (readonly [prefix: string, domain: string, dualStackDomain: string])[] = [
  ['cn-', 'amazonaws.com.cn', 'api.amazonwebservices.com.cn'],
  ['eusc-', 'amazonaws.eu', 'api.amazonwebservices.eu'],
  ['us-isob-', 'sc2s.sgov.gov', 'api.aws.scloud'],
  ['us-isof-', 'csp.hci.ic.gov', 'api.aws.hci.ic.gov'],
  ['us-iso-', 'c2s.ic.gov', 'api.aws.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk', 'api.cloud-aws.adc-e.uk'],
  ['', 'amazonaws.com', 'api.aws'],
]

/** In these Regions the ordinary endpoint of DynamoDB is the FIPS endpoint. */
const ORDINARY_IS_FIPS = /^dynamodb\.us-gov-/

/** A label of a host name, which a Region becomes; FIPS endpoints are chosen by `AWS_USE_FIPS_ENDPOINT` alone. */
const REGION = /^(?!-|fips-)[a-z0-9-]{1,63}(?<!-|-fips)$/i

const FIPS = 'AWS_USE_FIPS_ENDPOINT'
const DUAL_STACK = 'AWS_USE_DUALSTACK_ENDPOINT'

/** The domain of AWS's endpoints in a Region. */
export const domainOf = (region: string): string => partitionOf(region)[1]

const partitionOf = (region: string) => PARTITIONS.find(([prefix]) => region.startsWith(prefix))!

/** Where a service is called, and for which Region its calls are signed. */
export interface Endpoint {
  readonly region: string
  readonly url: URL
}

export interface EndpointOptions {
  /** @default `AWS_REGION` */
  readonly region?: string | undefined
  /** @default `AWS_ENDPOINT_URL_DYNAMODB` (of another service, its name), `AWS_ENDPOINT_URL`, or the Region's own */
  readonly endpoint?: string | undefined
}

/**
 * Where a service is called: what is given, else what the environment says in the variables that the SDK reads.
 * `AWS_USE_FIPS_ENDPOINT` and `AWS_USE_DUALSTACK_ENDPOINT` choose among the Region's own endpoints.
 *
 * @param service as its host name says it: `dynamodb`, `lambda`.
 * @throws ConfigError for a Region or a URL that is missing or invalid, or a URL beside one of those two variables.
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
 */
export function endpointOf(service: string, options: EndpointOptions = {}, env = process.env): Endpoint {
  const configured =
    env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true'
      ? undefined
      : env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] || env.AWS_ENDPOINT_URL
  const { region = env.AWS_REGION, endpoint = configured || undefined } = options
  if (typeof region !== 'string' || !REGION.test(region)) {
    const got = region ? printed(region) : 'none'
    throw invalidValue(`region must be a Region such as "eu-central-1" (option region, or AWS_REGION), got ${got}`)
  }
  if (endpoint === undefined) return { region, url: new URL(ownEndpoint(service, region, env)) }
  const url = urlOf(endpoint)
  const unheeded = [FIPS, DUAL_STACK].find((name) => env[name] === 'true')
  if (unheeded)
    throw invalidValue(`${unheeded} chooses among AWS's own endpoints, so none may be configured, got ${url}`)
  return { region, url }
}

function ownEndpoint(service: string, region: string, env: NodeJS.ProcessEnv): string {
  const [, domain, dualStackDomain] = partitionOf(region)
  const isDualStack = env[DUAL_STACK] === 'true'
  const isFips = env[FIPS] === 'true'
  const hasOwnFips = isDualStack || !ORDINARY_IS_FIPS.test(`${service}.${region}`)
  return `https://${service}${isFips && hasOwnFips ? '-fips' : ''}.${region}.${isDualStack ? dualStackDomain : domain}`
}

function urlOf(endpoint: unknown): URL {
  if (typeof endpoint === 'string' && /^https?:/i.test(endpoint) && URL.canParse(endpoint)) return new URL(endpoint)
  throw invalidValue(`endpoint must be a URL that begins with https:// or http://, got ${printed(endpoint)}`)
}
