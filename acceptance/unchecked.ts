/** Lines of docs/limitations.md for which there is no check, and why. */
export const UNCHECKED = [
  {
    line: 'published',
    asks: 'What is published',
    because: 'it is about npm, not about AWS; `npm run check:publish` names what is missing',
  },
  {
    line: 'other-tools',
    asks: 'HTTP APIs from documents, `sam deploy` and the Serverless Framework',
    because: 'they need command lines that this repository does not install, and a login for one of them',
  },
  {
    line: 'terraform',
    asks: 'The Terraform modules',
    because: 'they need Terraform with the AWS provider; `terraform plan` in an account is the test',
  },
  {
    line: 'releases',
    asks: 'A rollout by CodeDeploy, its alarm and provisioned concurrency',
    because: 'one takes longer than all other checks together, and provisioned concurrency costs by the hour',
  },
  {
    line: 'nearing',
    asks: 'The rule that sends `limit_nearing` to EventBridge',
    because: 'what it sends ends where its operator listens; its own function’s log tells',
  },
  {
    line: 'response-type',
    asks: '`$context.error.responseType` in access logs',
    because: 'a request that is refused and one without a route show it in a log in the format of `accessLogFormat`',
  },
  { line: 'other-accounts', asks: 'APIs of other accounts', because: 'it needs a second account' },
  {
    line: 'quota-offset',
    asks: 'What `quota.offset` of a usage plan means, and the import of usage plans',
    because: 'it shows after a day, and an import would read the usage plans of whoever runs this',
  },
  {
    line: 'usage-identifier',
    asks: 'Usage plans beside Sluice',
    because: 'API Gateway counts them with a delay that it does not promise',
  },
] as const
