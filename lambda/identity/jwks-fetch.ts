import { get as getPlain } from 'node:http'
import { get as getSecure } from 'node:https'

/** Gets the JSON of a key set, or rejects. */
export type FetchJwks = (uri: string) => Promise<string>

/** A key takes about 500 bytes; with its certificates, as Entra ID publishes them, 2 KB. */
const MAX_BYTES = 256 * 1024

/**
 * For the whole fetch, in milliseconds. A decision does not wait so long, but the next one uses what was read
 * meanwhile.
 */
const TIMEOUT_MS = 3000

/**
 * Fetches a key set: status 200, no redirects, bounded in size and time. It opens a new connection: one kept since the
 * last fetch, an hour ago, is usually dead where functions are frozen between requests.
 */
export const fetchJwks: FetchJwks = (uri) =>
  new Promise((resolve, reject) => {
    const request = (uri.startsWith('https:') ? getSecure : getPlain)(uri, {
      agent: false,
      headers: { accept: 'application/json' },
    })
    const give = (problem: string) => request.destroy(new Error(`${uri} ${problem}`))
    const timer = setTimeout(() => give(`did not answer within ${TIMEOUT_MS} ms`), TIMEOUT_MS).unref()
    request.on('close', () => clearTimeout(timer))
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('error', reject) // the connection broke, or was given up, before the end
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_BYTES) give(`sent more than ${MAX_BYTES} bytes`)
        else chunks.push(chunk)
      })
      response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
      if (response.statusCode !== 200) give(`answered with status ${response.statusCode}, not 200`)
    })
  })
