import { CfnOutput, Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { LIMITER_OUTPUT, type LimiterOutput } from '../provisioning/limiter-output'

/** Makes the stack output by which the command line finds a limiter, its tables and its function. */
export function nameForCommandLine(limiter: Construct, parts: Omit<LimiterOutput, 'limiter'>): void {
  const stack = Stack.of(limiter)
  const above = stack.node.path === '' ? '' : `${stack.node.path}/`
  const value: LimiterOutput = { limiter: limiter.node.path.slice(above.length), ...parts }
  const output = new CfnOutput(limiter, 'CommandLine', {
    value: stack.toJsonString(value),
    description: `for sluice --limiter ${value.limiter}`,
  })
  output.overrideLogicalId(`${LIMITER_OUTPUT}${limiter.node.addr.slice(-8)}`)
}
