import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the vendor allows within any two seconds. */
export const LIMITS = { requests: 40, tokens: 6000, withinMs: 2000 }

/** A stand-in for the vendor: counts what arrives, and answers 429 to what is too much. It knows nothing of Sluice. */
export async function startVendor() {
  let taken: { readonly at: number; readonly tokens: number }[] = []
  const answers: Record<number, number> = {}

  const server = createServer((request, response) => {
    const now = performance.now()
    const tokens = Number(request.headers['x-tokens'])
    taken = taken.filter(({ at }) => at > now - LIMITS.withinMs)
    const used = taken.reduce((sum, one) => sum + one.tokens, 0)
    const status = taken.length < LIMITS.requests && used + tokens <= LIMITS.tokens ? 200 : 429
    if (status === 200) taken.push({ at: now, tokens })
    answers[status] = (answers[status] ?? 0) + 1
    request.resume()
    setTimeout(() => response.writeHead(status, { 'Retry-After': '2' }).end(), 30 * Math.random())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** How often it answered what. */
    answers,
    close: () => server.close(),
  }
}
