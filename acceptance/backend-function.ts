import { join } from 'node:path'
import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { Architecture } from 'aws-cdk-lib/aws-lambda'
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { DEFAULT_RUNTIME } from '../lib/function-parts'

/** A function of backend.ts. */
export const backendFunction = (
  scope: Construct,
  id: string,
  handler: 'handler' | 'chat' | 'probe' | 'socket',
): NodejsFunction =>
  new NodejsFunction(scope, id, {
    entry: join(__dirname, 'backend.ts'),
    handler,
    runtime: DEFAULT_RUNTIME,
    architecture: Architecture.ARM_64,
    timeout: Duration.seconds(10),
    bundling: { externalModules: [] },
    logGroup: new LogGroup(scope, `${id}Logs`, {
      retention: RetentionDays.ONE_DAY,
      removalPolicy: RemovalPolicy.DESTROY,
    }),
  })
