import { isMissing, missingPackage } from '../limiter/aws/missing-package'

/** Only CDK apps install the CDK: a program that wants the limiter alone gets an error that names `sluice/limiter`. */
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

// biome-ignore lint/complexity/noUselessEmptyExport: CommonJS for esbuild without it (split-build.ts)
export {}
