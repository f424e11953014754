/**
 * The code for an upstream authorizer is a file of its own, loaded only where one is configured, so that other
 * deployments do not pay for it in every cold start. `lib/authorizer-bundle.ts` puts a file of this name beside the
 * bundle; bundlers do not follow this path.
 */
export function loadUpstream(): typeof import('./lambda-upstream') {
  return require(`${__dirname}/lambda-upstream`)
}
