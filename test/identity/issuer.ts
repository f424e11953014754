import { sign as cryptoSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A key pair of an issuer: what it signs with, and what it publishes. */
export interface SigningPair {
  readonly kid: string
  readonly alg: string
  readonly privateKey: KeyObject
  readonly jwk: Readonly<Record<string, unknown>>
}

const GENERATE = {
  RS: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}

export function pair(kid: string, alg = 'RS256'): SigningPair {
  const { publicKey, privateKey } = GENERATE[(alg.startsWith('RS') ? 'RS' : alg) as keyof typeof GENERATE]()
  return { kid, alg, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } }
}

/** A token with these claims, signed by this key; `header` changes what it says of itself, not how it is signed. */
export function token(
  claims: unknown,
  { kid, alg, privateKey }: SigningPair,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const input = unsigned({ typ: 'JWT', alg, kid, ...header }, claims)
  const hash = alg === 'EdDSA' ? null : `sha${alg.slice(2)}`
  return `${input}.${cryptoSign(hash, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** The two parts of a token that a signature is made over. */
export function unsigned(header: unknown, claims: unknown): string {
  return [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
}

/** A server of keys on this machine, which counts how often it is asked. */
export interface KeyServer {
  readonly url: string
  /** What is answered from now on: these keys, or whatever a listener does. */
  publish(answer: readonly SigningPair[] | RequestListener): void
  readonly asked: number
  close(): Promise<void>
}

export async function keyServer(answer: readonly SigningPair[] | RequestListener): Promise<KeyServer> {
  let current = answer
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    if (typeof current === 'function') current(request, response)
    else response.end(JSON.stringify({ keys: current.map(({ jwk }) => jwk) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    publish: (next) => {
      current = next
    },
    get asked() {
      return asked
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
