// In the account of the limiter, first: npx cdk deploy --app 'node limiter.mjs'
import { App, Stack } from 'aws-cdk-lib'
import { RateLimiter } from 'sluice'
import { FUNCTION, LIMITER, SHOP } from './accounts.mjs'

const stack = new Stack(new App(), 'Limiter', { env: LIMITER })
const limiter = new RateLimiter(stack, 'Limiter', {
  tiersFile: 'tiers.yaml',
  functionOptions: { functionName: FUNCTION.name },
  release: { alias: FUNCTION.alias },
})
limiter.shareWith({ account: SHOP.account }) // or { organization: 'o-…' } for all accounts of yours
