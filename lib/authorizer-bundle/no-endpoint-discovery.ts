/**
 * Stands in for endpoint discovery and its LRU library: the authorizer never turns it on, and DynamoDB's tables do
 * without.
 */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: false,
}

export const resolveEndpointDiscoveryConfig = <Config>(config: Config): Config => config
