import type { RequestFacts } from '../../lambda/identity/source'

/** A request that tells nothing about who is asking, but for what is given. Headers in lower case. */
export const request = ({
  headers = {},
  query = {},
  path = {},
  ...facts
}: Partial<Pick<RequestFacts, 'sourceIp' | 'apiKeyId' | 'clientCertificate'>> & {
  readonly headers?: Record<string, string>
  readonly query?: Record<string, string>
  readonly path?: Record<string, string>
} = {}): RequestFacts => ({
  headers: new Map(Object.entries(headers)),
  query: new Map(Object.entries(query)),
  pathParameters: new Map(Object.entries(path)),
  sourceIp: undefined,
  apiKeyId: undefined,
  clientCertificate: undefined,
  ...facts,
})
