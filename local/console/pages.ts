import type { IncomingMessage, ServerResponse } from 'node:http'
import { jsonResponse } from '../gateway/api'
import { refusalOf } from '../gateway/guard'
import { dropBody, send } from '../gateway/send'
import { pageFiles } from './page-files'

/** The pages and endpoints of the local gateway itself, beside the API. */
export interface LocalPages {
  /**
   * Answers a request for a page, or for a file or endpoint of one.
   *
   * @returns `false` for all other requests, which it leaves untouched.
   */
  serve(incoming: IncomingMessage, response: ServerResponse, path: string): boolean
}

/** An endpoint of a page. If it throws, the response is a 500. */
export type Endpoint = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>

interface PagesOptions {
  /** Host names other than this machine's under which the pages may be requested. */
  readonly allowHosts?: readonly string[]
  /** Whether a browser that requests `/` is redirected to the console. */
  readonly leadsFromRoot?: boolean
  /** By method and path, such as `GET /_local/console/events`. @default none */
  readonly endpoints?: ReadonlyMap<string, Endpoint>
  /** Gets errors. */
  readonly log: (text: string) => void
}

const ROOT = '/_local/'

/** The path of each page; scripts and styles are beside them. */
const PAGE_PATHS: Readonly<Record<string, string>> = { [ROOT]: 'console.html', '/_local/lab': 'lab.html' }

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** Nothing from other origins, no inline code, and no framing by other pages. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers of all responses of the pages. */
export const OWN_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const

/** The pages under `/_local/`: the console and the lab, for this machine's browser alone. */
export function createPages({
  allowHosts = [],
  leadsFromRoot = false,
  endpoints = new Map(),
  log,
}: PagesOptions): LocalPages {
  const answer = async (incoming: IncomingMessage, response: ServerResponse, path: string) => {
    const refusal = refusalOf(incoming, allowHosts, Object.hasOwn(PAGE_PATHS, path))
    if (refusal) return sendJson(incoming, response, refusal.statusCode, { message: refusal.message })
    const endpoint = endpoints.get(`${incoming.method} ${path}`)
    if (endpoint) return endpoint(incoming, response)
    if (incoming.method !== 'GET' && incoming.method !== 'HEAD')
      return sendJson(incoming, response, 405, { message: `${path} is read-only: use GET` })
    await dropBody(incoming, response)
    const name = PAGE_PATHS[path] ?? path.slice(ROOT.length)
    const text = (await pageFiles()).get(name)
    if (text === undefined) return sendJson(incoming, response, 404, { message: `there is no ${path}` })
    const type = TYPES[name.split('.').at(-1)!]!
    send(response, {
      statusCode: 200,
      headers: { ...OWN_HEADERS, 'Content-Type': type },
      body: text,
    })
  }

  return {
    serve(incoming, response, path) {
      if (leadsFromRoot && path === '/' && wantsPage(incoming)) {
        send(response, { statusCode: 302, headers: { Location: ROOT, 'Cache-Control': 'no-store' }, body: '' })
        return true
      }
      if (path === '/_local') {
        send(response, { statusCode: 302, headers: { Location: ROOT }, body: '' })
        return true
      }
      if (!isOwn(path)) return false
      answer(incoming, response, path).catch((error: unknown) => {
        if (response.destroyed) return
        log(`console: ${error instanceof Error ? error.stack : error}\n`)
        if (response.headersSent) response.destroy()
        else send(response, jsonResponse(500, { message: 'the console failed: see the terminal' }, OWN_HEADERS))
      })
      return true
    },
  }
}

const isOwn = (path: string): boolean =>
  Object.hasOwn(PAGE_PATHS, path) || path.startsWith('/_local/console/') || /^\/_local\/[a-z-]+\.(js|css)$/.test(path)

const wantsPage = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '')

/** Sends an answer of an endpoint. */
export async function sendJson(
  incoming: IncomingMessage,
  response: ServerResponse,
  statusCode: number,
  body: unknown,
): Promise<void> {
  await dropBody(incoming, response)
  send(response, jsonResponse(statusCode, body, OWN_HEADERS))
}
