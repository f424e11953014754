import { isMissing, missingPackage } from '../limiter/aws/missing-package'

/** The CDK is installed by those who have an app of it: whoever wants the limiter alone is told where that is. */
for (const name of ['aws-cdk-lib', 'constructs']) {
  try {
    require.resolve(name)
  } catch (error) {
    if (!isMissing(error, name)) throw error
    throw missingPackage("the constructs of 'sluice' (the limiter alone is 'sluice/limiter') need", [
      'aws-cdk-lib',
      'constructs',
    ])
  }
}
