import { join } from 'node:path'
import { compiled } from '../product'
import type { EngineProxy, Proxies } from '../proxies'
import type { Contender } from './contender'
import { startContender } from './contender-process'
import { ZAE_VERSION, zaePython } from './python'

/** A product with the proxy that counts its calls, or the reason why it does not run. */
export type Entrant = { readonly name: string; readonly version: string } & (
  | { readonly contender: Contender; readonly proxy: EngineProxy }
  | { readonly missing: string }
)

export type Present = Extract<Entrant, { readonly contender: Contender }>

const FLEXIBLE = (require('rate-limiter-flexible/package.json') as { version: string }).version

const NODE_PRODUCTS = [
  { name: 'sluice', version: '' },
  { name: 'sluice with the SDK', version: '' },
  { name: 'rate-limiter-flexible', version: FLEXIBLE },
  { name: 'rate-limiter-flexible with memory', version: FLEXIBLE },
] as const
const ZAE = { name: 'zae-limiter', version: ZAE_VERSION }

/** In the order of the table's columns. */
export const PRODUCTS: readonly Pick<Entrant, 'name' | 'version'>[] = [...NODE_PRODUCTS, ZAE]

/** The environment of every process: made-up credentials, which the engine accepts. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  AWS_REGION: 'us-east-1',
  AWS_DEFAULT_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
}

/** Starts them all, each in a process of its own and behind a proxy of its own, on one engine. */
export async function startContenders(proxies: Proxies, engine: string, answersWithinMs: number): Promise<Entrant[]> {
  const program = compiled('bench/children/contender.ts')
  const entrants: Entrant[] = []
  for (const product of NODE_PRODUCTS) {
    const proxy = await proxies.open(engine)
    const args = [program, product.name, proxy.endpoint]
    const contender = await startContender({
      name: ZAE.name,
      command: process.execPath,
      args,
      env: ENVIRONMENT,
      answersWithinMs,
    })
    entrants.push({ ...product, contender, proxy })
  }
  return [...entrants, await startZae(proxies, engine, answersWithinMs)]
}

async function startZae(proxies: Proxies, engine: string, answersWithinMs: number): Promise<Entrant> {
  const found = zaePython()
  if ('missing' in found) return { ...ZAE, missing: found.missing }
  const proxy = await proxies.open(engine)
  const args = ['-W', 'ignore', join(__dirname, 'zae_contender.py'), proxy.endpoint]
  try {
    const contender = await startContender({
      name: ZAE.name,
      command: found.python,
      args,
      env: ENVIRONMENT,
      answersWithinMs,
    })
    const { allowed, reason } = await trial(contender)
    if (allowed === 1) return { ...ZAE, proxy, contender }
    await contender.stop()
    return { ...ZAE, missing: `it cannot decide on this engine: ${reason}` }
  } catch (error) {
    return { ...ZAE, missing: (error as Error).message }
  }
}

/** One decision: zae-limiter needs transactions, which not every engine has. */
async function trial(contender: Contender) {
  await contender.limit({ name: 'trial', units: 10, seconds: 60, kind: 'window' })
  return contender.take({ limit: 'trial', prefix: 'trial' })
}
