import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(__dirname, '..', '..')

/** The store that a program calls; each is stood in for on this machine. */
export type StoreName = 'DynamoDB' | 'Upstash Redis'

/** A file of `programs/`: a server that allows each API key 100 requests a minute. */
export interface Program {
  readonly file: string
  /** As the table calls it. */
  readonly name: string
  /** What it has installed beside Express and Sluice. */
  readonly packages: readonly string[]
  /** @default it counts in its own memory */
  readonly store?: StoreName
}

/** In the order of the table's rows. */
export const PROGRAMS: readonly Program[] = [
  { file: 'sluice-memory', name: 'Sluice, middleware, in memory', packages: [] },
  { file: 'sluice-dynamodb', name: 'Sluice, middleware', packages: [], store: 'DynamoDB' },
  { file: 'sluice-library', name: 'Sluice, `take`', packages: [], store: 'DynamoDB' },
  { file: 'flexible-memory', name: 'in memory', packages: ['rate-limiter-flexible'] },
  { file: 'flexible-dynamodb', name: '', packages: ['rate-limiter-flexible'], store: 'DynamoDB' },
  {
    file: 'flexible-dynamodb-insured',
    name: 'with `inMemoryBlockOnConsumed` and `insuranceLimiter`',
    packages: ['rate-limiter-flexible'],
    store: 'DynamoDB',
  },
  { file: 'upstash', name: '', packages: ['@upstash/ratelimit', '@upstash/redis'], store: 'Upstash Redis' },
  { file: 'express-rate-limit', name: 'middleware, in memory', packages: ['express-rate-limit'] },
]

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>
}

/** The program as the table calls it: its packages with the versions of package-lock.json, its store, what is set. */
export function titleOf({ name, packages, store }: Program): string {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  const versions = packages.map((one) => `${one} ${lock.packages[`node_modules/${one}`]!.version}`).join(' and ')
  return [versions, name, store && `on ${store}`].filter(Boolean).join(', ')
}

/** The path of its source. */
export const sourceOf = ({ file }: Program): string => join(ROOT, 'bench', 'peers', 'programs', `${file}.ts`)
