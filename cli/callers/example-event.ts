/** What API Gateway sends to a REQUEST authorizer of a REST API, as far as Sluice reads it: a request to start from. */
export const EXAMPLE_EVENT = {
  type: 'REQUEST',
  methodArn: 'arn:aws:execute-api:eu-central-1:123456789012:a1b2c3d4e5/prod/GET/search',
  resource: '/search',
  path: '/search',
  httpMethod: 'GET',
  headers: { 'X-Api-Key': 'your-key' },
  multiValueHeaders: { 'X-Api-Key': ['your-key'] },
  queryStringParameters: { q: 'water' },
  multiValueQueryStringParameters: { q: ['water'] },
  pathParameters: null,
  stageVariables: null,
  requestContext: {
    apiId: 'a1b2c3d4e5',
    stage: 'prod',
    httpMethod: 'GET',
    path: '/prod/search',
    resourcePath: '/search',
    identity: { sourceIp: '203.0.113.7' },
  },
} as const
