// Stacks that a test makes have the functions' sources as their code: esbuild would take half a second in each file.
// What is deployed, or looks into the bundle, is in test/slow and test/local.
process.env.CDK_CONTEXT_JSON = JSON.stringify({
  'aws:cdk:bundling-stacks': [],
  'aws:cdk:disable-asset-staging': true,
  'aws:cdk:disable-stack-trace': true,
  'aws:cdk:disable-creation-stack-traces': true,
})
