import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PutItemCommand } from '@aws-sdk/client-dynamodb'
import { GetFunctionConfigurationCommand, UpdateFunctionConfigurationCommand } from '@aws-sdk/client-lambda'
import { USED_TOKENS } from '../backend'
import { type Check, found } from '../check'
import type { Scene } from '../scene'
import { CHANGING, TOKENS } from '../tiers'

/** How old a configuration gets, and time for an instance to read it. */
const IN_FORCE_MS = 45_000
/** How long a settlement takes at most. */
const SETTLED_MS = 2000
/** A write of this size is 300 units: a few a second are more than an item takes. */
const LARGE_ITEM_BYTES = 300_000
const WRITES = 80

/** What the authorizer told the backend. */
async function contextOf({ traffic }: Scene, url: string, headers: Readonly<Record<string, string>>) {
  const { status, body } = await traffic.send(url, { headers })
  if (status !== 200) throw new Error(`${status} from ${url}`)
  return (JSON.parse(body) as { readonly context: Readonly<Record<string, unknown>> }).context
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((one, other) => one - other)[Math.ceil(values.length * share) - 1] ?? Number.NaN

const ms = (value: number): string => `${Math.round(value)} ms`

export const LIMITS: readonly Check[] = [
  {
    id: 'runtime',
    lines: ['runtime'],
    asks: 'The runtime of the functions in this Region',
    expects: 'nodejs24.x is there; otherwise `runtime` names another one',
    async run({ clients, outputs: { limiter } }) {
      const FunctionName = limiter.Function
      const { Runtime, State } = await clients.lambda.send(new GetFunctionConfigurationCommand({ FunctionName }))
      return found(Runtime === 'nodejs24.x' && State === 'Active', `${Runtime}, ${State}`)
    },
  },
  {
    id: 'tiers-apply',
    lines: ['times'],
    asks: 'How long it takes from `sluice tiers apply` until a limit is in force',
    expects: `at most ${IN_FORCE_MS / 1000} s`,
    async run(scene) {
      const headers = await scene.newCaller('changing')
      const url = `${scene.outputs.limiter.RestUrl}hello`
      const before = (await contextOf(scene, url, headers)).limit
      const folder = mkdtempSync(join(tmpdir(), 'sluice-acceptance-tiers-'))
      try {
        const file = join(folder, 'tiers.yaml')
        const exported = await scene.sluice('tiers', 'export')
        if (exported.code !== 0) throw new Error(`sluice tiers export: ${exported.err}`)
        writeFileSync(file, exported.out.replace(`limit: ${CHANGING},`, 'limit: 4321,'))
        if (readFileSync(file, 'utf8') === exported.out) throw new Error(`no limit of ${CHANGING} in ${exported.out}`)
        const applied = await scene.sluice('tiers', 'apply', file, '--yes')
        if (applied.code !== 0) throw new Error(`sluice tiers apply: ${applied.err}`)
      } finally {
        rmSync(folder, { recursive: true })
      }
      const began = performance.now()
      for (;;) {
        const { limit } = await contextOf(scene, url, await scene.newCaller('changing'))
        const tookMs = performance.now() - began
        if (String(limit) === '4321')
          return found(tookMs <= IN_FORCE_MS, `${before}, then ${limit} after ${ms(tookMs)}`)
        if (tookMs > 2 * IN_FORCE_MS) return found(false, `still ${limit} after ${ms(tookMs)}`)
        await sleep(500)
      }
    },
  },
  {
    id: 'author',
    lines: ['sts'],
    asks: 'Who made a change, in the audit trail',
    expects: 'the ARN that STS knows the credentials by',
    alone: true,
    async run(scene) {
      let said = ''
      for (let attempt = 0; attempt < 3; attempt++) {
        const id = `audited-${attempt}-${scene.name}`
        const made = await scene.sluice('clients', 'create', id, '--tier', 'few')
        const told = await scene.sluice('history', '--json', '--item', `client#${id}`)
        if (told.out.includes(scene.account.caller)) return found(made.code === 0, 'the caller’s ARN')
        said = `${told.out.slice(0, 300)} ${made.err} ${told.err}`.trim()
      }
      return found(false, said)
    },
  },
  {
    id: 'settle',
    lines: ['aws'],
    asks: 'Units that a request reserves, and that its backend settles',
    expects: `${TOKENS.reserved} are reserved, and ${USED_TOKENS} charged in the end`,
    async run(scene) {
      const headers = await scene.newCaller('many')
      const url = `${scene.outputs.limiter.RestUrl}chat`
      const left: (string | undefined)[] = []
      for (let n = 0; n < 3; n++) {
        const { status, headers: got } = await scene.traffic.send(url, { method: 'POST', headers })
        const [, units] = /"tokens-per-day";r=(\d+)/.exec(String(got.ratelimit)) ?? []
        left.push(status === 200 ? units : String(status))
        // All that came before is settled, or, as an answer does not wait long for it, it will be when the next asks.
        const isSettled = n > 0 && Number(units) === TOKENS.limit - TOKENS.reserved - n * USED_TOKENS
        if (isSettled) return found(true, `left after each: ${left.join(', ')}`)
        await sleep(SETTLED_MS)
      }
      return found(false, `left after each: ${left.join(', ')}`)
    },
  },
  {
    id: 'rights',
    lines: ['aws', 'scan-filter', 'leading-keys'],
    asks: 'The rights of the functions’ roles',
    expects: 'the tiers of the code are in the table, and a decision is made by the state table',
    onlyAws: 'MiniStack checks no policy',
    async run(scene) {
      const headers = await scene.newCaller('few')
      const { limit, degraded, reason } = await contextOf(scene, `${scene.outputs.limiter.RestUrl}hello`, headers)
      const said = `limit ${limit}, degraded ${degraded}, reason ${reason || 'none'}`
      return found(String(limit) === '5' && String(degraded) !== 'true', said)
    },
  },
  {
    id: 'throttled-item',
    lines: ['times'],
    asks: 'An item that is written more often than DynamoDB takes',
    expects: 'ThrottlingException or ProvisionedThroughputExceededException, whose reason is a key range',
    onlyAws: 'no emulator throttles an item',
    async run({ clients, outputs: { limiter } }) {
      const Item = { pk: { S: 'acceptance' }, sk: { S: 'hot' }, filler: { S: 'a'.repeat(LARGE_ITEM_BYTES) } }
      const put = new PutItemCommand({ TableName: limiter.ConfigTable, Item })
      const results = await Promise.allSettled(Array.from({ length: WRITES }, () => clients.once.send(put)))
      const reasons = results.flatMap((one) => {
        if (one.status === 'fulfilled') return []
        const { name, ThrottlingReasons = [] } = one.reason
        return [`${name} (${ThrottlingReasons.map((each: { reason?: string }) => each.reason).join(', ')})`]
      })
      return found(
        reasons.some((reason) => /^(Throttling|ProvisionedThroughputExceeded).*KeyRange/.test(reason)),
        reasons.length === 0 ? `none of ${WRITES} was throttled` : [...new Set(reasons)].join('; '),
      )
    },
  },
  {
    id: 'latency',
    lines: ['times'],
    asks: 'The latency that the authorizer adds',
    expects: 'warm, less than 50 ms at the median and 300 ms at p99; cold, less than 2 s',
    onlyAws: 'its times say nothing',
    alone: true,
    async run(scene) {
      const { RestUrl, Function: FunctionName } = scene.outputs.limiter
      const headers = await scene.newCaller('many')
      const timesOf = async (path: string, count: number) => {
        const times: number[] = []
        for (let i = 0; i < count; i++) times.push((await scene.traffic.send(RestUrl + path, { headers })).tookMs)
        return times
      }
      await Promise.all([timesOf('open', 5), timesOf('hello', 5)])
      const [open, limited] = [await timesOf('open', 200), await timesOf('hello', 200)]
      const [p50, p99] = [0.5, 0.99].map((share) => quantile(limited, share) - quantile(open, share)) as [
        number,
        number,
      ]
      const cold: number[] = []
      for (let i = 0; i < 5; i++) {
        const Description = `cold ${i}` // a changed configuration begins with new instances
        await scene.clients.lambda.send(new UpdateFunctionConfigurationCommand({ FunctionName, Description }))
        await sleep(5000)
        cold.push((await timesOf('hello', 1))[0]! - quantile(open, 0.5))
      }
      return found(
        p50 < 50 && p99 < 300 && Math.max(...cold) < 2000,
        `warm p50 ${ms(p50)}, p99 ${ms(p99)}; cold ${cold.map(ms).join(', ')}`,
      )
    },
  },
]
