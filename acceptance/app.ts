import { App, RemovalPolicy } from 'aws-cdk-lib'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { RateLimiter } from '../lib/rate-limiter'
import { SluiceStack } from '../lib/sluice-stack'
import { LimiterStack } from './limiter-stack'
import { OtherApisStack } from './other-apis-stack'

/**
 * What `npm run acceptance` deploys. `-c name=` is how all of it is called, `-c protected=false` takes a `protect()`
 * out, and `-c emulator=true` leaves out what MiniStack does not know.
 */
const app = new App()
const name = String(app.node.tryGetContext('name') ?? 'sluice-acceptance')
const isEmulator = app.node.tryGetContext('emulator') === 'true'
const isProtected = app.node.tryGetContext('protected') !== 'false'

const sample = new SluiceStack(app, 'Sample', {
  stackName: `${name}-sample`,
  removalPolicy: RemovalPolicy.DESTROY,
  logRetention: RetentionDays.ONE_DAY,
  deletionGuard: false,
  dashboard: !isEmulator,
})
// It answers late where it is busy, and a lost answer may count twice.
if (isEmulator) (sample.node.findChild('Limiter') as RateLimiter).handler.addEnvironment('SLUICE_DEADLINE_MS', '8000')
const { limiter } = new LimiterStack(app, 'Limiter', { stackName: `${name}-limiter`, isEmulator })
new OtherApisStack(app, 'OtherApis', { stackName: `${name}-other`, limiter, isProtected, isEmulator })
