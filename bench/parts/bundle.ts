import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { buildAuthorizerBundle } from '../../lib/authorizer-bundle'
import { toFigure } from '../figure'
import type { Part } from '../part'
import { interleaved, median, ratios, summary } from '../statistics'

/** A function that uses the default client and nothing else, as a first draft of an authorizer would. */
const MINIMAL = `
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
const client = new DynamoDBClient({})
export const handler = (event) => client.send(new UpdateItemCommand({
  TableName: 'table',
  Key: { pk: { S: event.key } },
  UpdateExpression: 'ADD used :one',
  ExpressionAttributeValues: { ':one': { N: '1' } },
}))
`

/** Loads a bundle as Lambda does, and says how many milliseconds that took. */
const LOAD = `
const start = performance.now()
const { handler } = require(process.argv[1])
const took = performance.now() - start
if (typeof handler !== 'function') throw new Error('the bundle has no handler')
console.log(took)
`

const ENVIRONMENT = {
  PATH: process.env.PATH,
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  SLUICE_STATE_TABLE: 'sluice-state',
  SLUICE_CONFIG_TABLE: 'sluice-config',
}

/** What a cold start has to load. */
export const bundle: Part = {
  title: 'Authorizer bundle',

  async run({ quick }) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
    try {
      const files = {
        ours: buildAuthorizerBundle(folderIn(folder, 'ours')),
        minimal: buildMinimal(folderIn(folder, 'minimal')),
      }
      const kilobytes = (file: string): number => statSync(file).size / 1000
      const times = await interleaved(
        { ours: async () => loadMs(files.ours), minimal: async () => loadMs(files.minimal) },
        { most: quick ? 5 : 25, least: quick ? 5 : 15, budgetMs: 20_000 },
      )
      return {
        figures: [
          toFigure('size of the authorizer bundle', {
            measured: kilobytes(files.ours),
            unit: 'KB',
            goal: { atMost: 180 },
          }),
          toFigure('load time against the minimal bundle', {
            ...summary(ratios(times.ours, times.minimal)),
            unit: '×',
            goal: { atMost: 0.5 },
          }),
        ],
        details: [
          `Minimal bundle: ${kilobytes(files.minimal).toFixed(0)} KB, a handler that makes the default client and one UpdateItem, esbuild's defaults for Node, minified.`,
          `Median load: ${median(times.ours).toFixed(1)} ms against ${median(times.minimal).toFixed(1)} ms, ${times.ours.length} pairs of fresh processes, in turns. 1 KB = 1000 bytes.`,
        ],
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function folderIn(folder: string, name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

function buildMinimal(folder: string): string {
  const outfile = join(folder, 'index.js')
  buildSync({
    stdin: { contents: MINIMAL, resolveDir: __dirname },
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    logLevel: 'silent',
  })
  return outfile
}

function loadMs(file: string): number {
  return Number(
    execFileSync(process.execPath, ['--eval', LOAD, file], {
      env: ENVIRONMENT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
}
