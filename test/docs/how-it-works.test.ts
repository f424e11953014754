import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLimiter, MemoryStore } from '../../limiter'
import { toUpdate, type Update } from '../../limiter/stores/expressions'

const PAGE = readFileSync(join(__dirname, '..', '..', 'docs', 'how-it-works.md'), 'utf8')

/** The third write of a client that is held to 3 a minute and 10,000 a day. */
async function thirdWrite(): Promise<Update> {
  const store = new MemoryStore()
  const write = store.write.bind(store)
  const updates: Update[] = []
  jest.spyOn(store, 'write').mockImplementation(async (key, one) => {
    updates.push(toUpdate(one))
    return write(key, one)
  })
  let now = Date.UTC(2026, 10, 22, 12, 11, 14)
  const policies = [
    { name: 'per-minute', limit: 3, window: '1m' },
    { name: 'per-day', algorithm: 'fixed-window', limit: 10_000, window: 'day' },
  ] as const
  const limiter = createLimiter({ store, clock: () => (now += 1000), policies })
  for (let requests = 0; requests < 3; requests++) await limiter.take('client:a')
  return updates[2]!
}

/** Of a text, what does not depend on line breaks, nor on which marks and numbers a process has drawn. */
const shape = (text: string) =>
  text
    .replace(/\br\d\b/g, 'r')
    .replace(/:0 \d+\s+:1 \d+/, '')
    .replace(/\s+/g, '')

it('docs/how-it-works.md shows the third write as it is sent, and reads it right', async () => {
  const { UpdateExpression, ConditionExpression, ExpressionAttributeValues } = await thirdWrite()
  const values = Object.entries(ExpressionAttributeValues).map(([name, { N }]) => `${name} ${N}`)
  const [, update, condition, sent] =
    /^UpdateExpression(.*)\nConditionExpression([\s\S]*)\nvalues(.*)\nReturnValues/m.exec(PAGE)!
  expect([update, condition, sent].map((text) => shape(text!))).toEqual(
    [UpdateExpression, ConditionExpression, values.join(' ')].map(shape),
  )
  expect(PAGE.replace(/\s+/g, ' ')).toContain(
    `this minute has at most ${ExpressionAttributeValues[':4']?.N} units, the minute before at most ` +
      `${ExpressionAttributeValues[':3']?.N}, and the day at most ` +
      `${Number(ExpressionAttributeValues[':6']?.N).toLocaleString('en')}.`,
  )
})
