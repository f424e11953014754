import * as fc from 'fast-check'
import { Clients } from '../../lambda/config-table/clients'
import { Refresher } from '../../lambda/config-table/refresher'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { runs } from '../runs'
import { FakeClock, FakeLog, FakeTable, itemsOf, settled } from './fake-table'

const ids = ['a', 'b', 'c']
interface Key {
  readonly pk: { readonly S: string }
}

interface Input {
  readonly Key?: Key
  readonly RequestItems: { readonly config: { readonly Keys: readonly Key[] } }
}

type Event =
  | { kind: 'request'; id: number; afterMs: number }
  | { kind: 'freeze'; id: number; forMs: number; how: 'fail' | 'answer' | 'late' }
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('request' as const), id: fc.nat(2), afterMs: fc.nat(40_000) }),
  fc.record({
    kind: fc.constant('freeze' as const),
    id: fc.nat(2),
    forMs: fc.integer({ min: 31_000, max: 200_000 }),
    how: fc.constantFrom('fail' as const, 'answer' as const, 'late' as const),
  }),
)

it.each([1, 500, 30_000, 86_400_000])('clients with a time to live of %d ms are never older', async (ttlMs) => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const table = new FakeTable()
      const clock = new FakeClock()
      const reading = { calls: sdkCalls(table.client), tableName: 'config', clock: clock.read, deadlineMs: 300 }
      const clients = new Clients({ ...reading, log: new FakeLog().write, ttlMs, negativeTtlMs: ttlMs })
      const answerTo = (input: unknown, at: number) => {
        const one = (pk: string) => itemsOf([{ pk, sk: 'client', id: pk, tier: String(at) }])[0]!
        const { Key, RequestItems } = input as Input
        if (Key) return { Item: one(Key.pk.S) }
        return { Responses: { config: RequestItems.config.Keys.map(({ pk }) => one(pk.S)) } }
      }
      const scale = Math.max(1, ttlMs / 30_000)
      for (const one of events) {
        if (one.kind === 'request') {
          clock.now += Math.round(one.afterMs * scale)
          table.answers = (call) => answerTo(call.input, clock.now)
          const found = (await clients.find(ids[one.id]!)) as { tier: string }
          expect(clock.now - Number(found.tier)).toBeLessThanOrEqual(ttlMs)
          await settled()
          continue
        }
        table.answers = undefined
        const seen = table.calls.length
        const at = clock.now
        void clients.find(ids[one.id]!)
        await settled()
        clock.now += Math.round(one.forMs * scale)
        const pending = table.calls.slice(seen)
        if (one.how === 'fail')
          for (const call of pending) await call.fail(Object.assign(new Error('x'), { name: 'AccessDeniedException' }))
        if (one.how === 'answer') for (const call of pending) await call.answer(answerTo(call.input, at))
        table.answers = (call) => answerTo(call.input, clock.now)
        for (const id of ids) {
          const found = (await clients.find(id)) as { tier: string }
          expect([one.how, typeof found]).toEqual([one.how, 'object'])
          expect(clock.now - Number(found.tier)).toBeLessThanOrEqual(ttlMs)
        }
        if (one.how === 'late') for (const call of pending) await call.answer(answerTo(call.input, at))
        await settled()
      }
      expect(
        Object.values(clients)
          .flatMap((map) => (map instanceof Map ? map.size : []))
          .at(-1),
      ).toBe(0) // look-ups
    }),
    { numRuns: runs(10, 300) },
  )
})

it.each([1, 500, 30_000, 86_400_000])('values with a time to live of %d ms are never older', async (ttlMs) => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const clock = new FakeClock()
      let value = Number.NaN
      let answers = true
      const pending: { resolve: (n: number) => void; reject: (e: unknown) => void; at: number }[] = []
      const refresher = new Refresher<number>({
        clock: clock.read,
        refreshMs: (ttlMs * 5) / 6,
        maxAgeMs: ttlMs,
        deadlineMs: 2000,
        read: () =>
          answers
            ? Promise.resolve(clock.now)
            : new Promise((resolve, reject) => pending.push({ resolve, reject, at: clock.now })),
        apply: async (read, isSuperseded) => {
          await Promise.resolve()
          if (!isSuperseded()) value = read
          return true
        },
        onError: () => {},
      })
      const scale = Math.max(1, ttlMs / 30_000)
      const check = async () => {
        await refresher.refresh()
        expect(clock.now - value).toBeLessThanOrEqual(ttlMs)
        await settled()
      }
      for (const one of events) {
        answers = one.kind === 'request'
        if (one.kind === 'request') {
          clock.now += Math.round(one.afterMs * scale)
          await check()
          continue
        }
        pending.length = 0
        void refresher.refresh()
        await settled()
        clock.now += Math.round(one.forMs * scale)
        if (one.how === 'fail') for (const p of pending) await settled(() => p.reject(new Error('x')))
        if (one.how === 'answer') for (const p of pending) await settled(() => p.resolve(p.at))
        answers = true
        await check()
        if (one.how === 'late') for (const p of pending) await settled(() => p.resolve(p.at))
        await check()
      }
    }),
    { numRuns: runs(10, 300) },
  )
})
