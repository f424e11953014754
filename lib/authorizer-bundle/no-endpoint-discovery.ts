/**
 * Replaces endpoint discovery and its LRU library: the authorizer never enables it, and DynamoDB's tables do not need
 * it.
 */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => undefined,
  configFileSelector: () => undefined,
  default: false,
}

export const resolveEndpointDiscoveryConfig = <Config>(config: Config): Config => config
