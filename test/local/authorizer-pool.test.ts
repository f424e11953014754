import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AuthorizerPool, createAuthorizerPool } from '../../local/gateway/authorizer-pool'

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
const bundle = join(folder, 'index.js')
writeFileSync(
  bundle,
  `
  const { threadId } = require('node:worker_threads')
  let busy = 0, served = 0
  exports.handler = async (event, context) => {
    if (event.do === 'throw') throw new TypeError('boom')
    if (event.do === 'exit') process.exit(3)
    if (event.do === 'crash') { setTimeout(() => { throw new Error('later') }); await new Promise(() => {}) }
    if (event.do === 'hang') await new Promise(() => {})
    if (event.do === 'spin') for (;;);
    if (event.do === 'nothing') return undefined
    if (event.do === 'print') console.log('printed')
    busy++
    await new Promise((resolve) => setTimeout(resolve, event.ms ?? 0))
    const together = busy--
    return { threadId, together, served: ++served, env: process.env, left: context.getRemainingTimeInMillis(), at: new Date(0) }
  }`,
)

const pools: AuthorizerPool[] = []
const logged: string[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What the bundle answers. */
interface Answer {
  readonly threadId: number
  readonly together: number
  readonly served: number
  readonly env: object
  readonly left: number
}

function open(instances: number, options: { timeoutMs?: number; bundle?: string } = {}) {
  const pool = createAuthorizerPool(instances, {
    bundle,
    env: { ONLY: 'this' },
    log: (text) => logged.push(text),
    ...options,
  })
  pools.push(pool)
  return { pool, ask: (event: object = {}) => pool.authorize(event) as Promise<Answer> }
}

test('an instance sees the environment that it is given and no other, and answers in JSON', async () => {
  const { ask } = open(1)
  const answer = await ask()
  expect(answer).toMatchObject({ env: { ONLY: 'this' }, at: '1970-01-01T00:00:00.000Z' })
  expect(answer.left).toBeGreaterThan(5000)
  expect(answer.left).toBeLessThanOrEqual(10_000)
  expect(await ask({ do: 'nothing' })).toBeNull()
})

test('each instance has one event at a time; more requests than instances wait', async () => {
  const { ask } = open(2)
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask({ ms: 5 })))
  expect(answers.map(({ together }) => together)).toEqual(Array(10).fill(1))
  expect(new Set(answers.map(({ threadId }) => threadId)).size).toBe(2)
})

test('one caller meets all instances in turn', async () => {
  const { ask } = open(3)
  const threads: number[] = []
  for (let i = 0; i < 6; i++) threads.push((await ask()).threadId)
  expect(threads.slice(3)).toEqual(threads.slice(0, 3))
  expect(new Set(threads).size).toBe(3)
})

test('warming up reaches every instance', async () => {
  const { pool, ask } = open(3)
  expect(await pool.warmUp({})).toHaveLength(3)
  expect(await Promise.all([ask(), ask(), ask()])).toMatchObject([{ served: 2 }, { served: 2 }, { served: 2 }])
})

test('what the handler throws is handed on by its message, and the instance lives', async () => {
  const { ask } = open(1)
  const { threadId } = await ask()
  await expect(ask({ do: 'throw' })).rejects.toMatchObject({
    message: 'boom',
    trace: expect.stringContaining('TypeError: boom'),
  })
  expect(await ask()).toMatchObject({ threadId, served: 2 })
})

test.each(['exit', 'crash'])('an instance that ends by %s fails its request and is replaced', async (how) => {
  const { ask } = open(1)
  await ask()
  await expect(ask({ do: how })).rejects.toThrow(how === 'exit' ? 'exited with code 3' : 'later')
  expect(await ask()).toMatchObject({ served: 1 })
})

test.each(['hang', 'spin'])('an instance that takes too long by a %s is ended and replaced', async (how) => {
  const { ask } = open(1, { timeoutMs: 1500 })
  await ask()
  await expect(ask({ do: how })).rejects.toThrow('the authorizer took longer than 1500 ms')
  expect(await ask()).toMatchObject({ served: 1 })
})

test('a bundle that does not load fails the request with its reason', async () => {
  const { ask } = open(1, { bundle: join(folder, 'missing.js') })
  await expect(ask()).rejects.toThrow('Cannot find module')
  await expect(ask()).rejects.toThrow('Cannot find module')
})

test('what the bundle prints goes to the log', async () => {
  const { ask } = open(1)
  await ask({ do: 'print' })
  for (let i = 0; i < 100 && logged.length === 0; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(logged.join('')).toBe('printed\n')
})

test('what still waits when the instances are stopped fails, and starts none again', async () => {
  const { pool, ask } = open(1)
  await ask()
  const asked = [ask({ do: 'hang' }), ask(), ask()].map((one) => one.catch((error: Error) => error.message))
  await pool.stop()
  expect((await Promise.all(asked)).slice(1)).toEqual(['the authorizer is stopped', 'the authorizer is stopped'])
})
