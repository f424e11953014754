import { Annotations, Stack, Token } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'

/** Warns of an upstream authorizer in another account, which has to allow the call from its side. */
export function warnOfUpstreamAccount(scope: Construct, upstream: IFunction | undefined): void {
  if (!upstream) return
  const [there, here] = [upstream.env.account, Stack.of(scope).account]
  if (there === here || Token.isUnresolved(there) || Token.isUnresolved(here)) return
  Annotations.of(scope).addWarningV2(
    'sluice:upstream-account',
    `upstream is a function of account ${there}, and the limiter is in ${here}: until that function’s own policy allows the role of the limiter’s handler ` +
      'lambda:InvokeFunction, every request is refused',
  )
}
