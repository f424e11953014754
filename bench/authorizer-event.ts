/** The request of one caller. Without a key the caller is anonymous. */
export interface Asked {
  readonly path: string
  readonly ip: string
  readonly apiKey?: string
}

/** The event that an HTTP API sends to its authorizer. */
export const eventOf = ({ path, ip, apiKey }: Asked) => ({
  version: '2.0',
  type: 'REQUEST',
  routeArn: `arn:aws:execute-api:us-east-1:123456789012:bench00000/prod/GET${path}`,
  identitySource: null,
  routeKey: '$default',
  rawPath: `/prod${path}`,
  rawQueryString: '',
  headers: {
    accept: 'application/json',
    host: 'bench00000.execute-api.us-east-1.amazonaws.com',
    'user-agent': 'bench',
    'x-forwarded-for': ip,
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
  },
  requestContext: {
    accountId: '123456789012',
    apiId: 'bench00000',
    http: { method: 'GET', path: `/prod${path}`, protocol: 'HTTP/1.1', sourceIp: ip, userAgent: 'bench' },
    requestId: 'bench',
    routeKey: '$default',
    stage: 'prod',
  },
})
