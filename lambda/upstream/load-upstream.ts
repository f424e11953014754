/**
 * The code behind an upstream authorizer is a file of its own, loaded where there is one, for who has none shall not
 * pay for it in every cold start. `lib/authorizer-bundle.ts` puts a file of this name beside the bundle; the path is
 * one that bundlers do not see.
 */
export function loadUpstream(): typeof import('./lambda-upstream') {
  return require(`${__dirname}/lambda-upstream`)
}
