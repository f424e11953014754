import { InterruptedError, ServiceError, UserError } from '../../cli/exit'
import { ConfigTable } from '../../cli/tables/config-table'
import { writeChanges } from '../../cli/tiers/write-changes'
import { type Change, diff, itemsOf, type TiersFile } from '../../provisioning/tiers-file'

type Documents = ConstructorParameters<typeof ConfigTable>[0]

const anonymous = { policies: [] }
const named = (name: string, fields: object = {}) => Object.assign(new Error(`${name}!`), { name, ...fields })
const changesOf = (before: TiersFile, after: TiersFile) => diff(itemsOf(before), itemsOf(after))
const changes = changesOf({ tiers: {} }, { tiers: { anonymous, a: anonymous, b: anonymous } })

/** Writes against a DynamoDB that answers each call as told, by the name of its command. */
async function write(
  some: readonly Change[],
  answer: (command: string, count: number) => unknown,
  pressed = new AbortController(),
) {
  const calls: string[] = []
  const send = async ({ constructor: { name } }: object) => {
    calls.push(name)
    const answered = answer(name, calls.filter((call) => call === name).length)
    if (answered instanceof Error) throw answered
    return answered ?? {}
  }
  const done: Change[] = []
  const table = new ConfigTable({ send } as unknown as Documents, 'config')
  const stored = itemsOf({ tiers: { anonymous } }).map((item) => ({ item, exact: item }))
  const error = await writeChanges(
    table,
    some[0]?.before ? stored : [],
    some,
    (one) => done.push(one),
    pressed.signal,
    () => {},
  ).catch((caught) => caught)
  return { calls, done: done.map(({ sk }) => sk), error }
}
const noTransactions = (command: string) =>
  command === 'TransactWriteCommand' ? named('UnknownOperationException') : undefined

describe('changes of the policy set', () => {
  it('are written in one transaction', async () => {
    expect(await write(changes, () => undefined)).toEqual({
      calls: ['TransactWriteCommand'],
      done: ['tier#a', 'tier#anonymous', 'tier#b'],
      error: undefined,
    })
  })

  it('are all refused when one item was changed by somebody else', async () => {
    const cancelled = named('TransactionCanceledException', {
      CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }],
    })
    const { done, error } = await write(changes, () => cancelled)
    expect([done, error]).toEqual([
      [],
      new UserError('nothing was written: another writer edited tier anonymous at the same moment'),
    ])
  })

  it('are written one by one without transactions, the anonymous tier first', async () => {
    const { calls, done, error } = await write(changes, noTransactions)
    expect(calls.slice(1)).toEqual(['PutCommand', 'PutCommand', 'PutCommand'])
    expect([done, error]).toEqual([['tier#anonymous', 'tier#a', 'tier#b'], undefined])
  })

  it.each([
    [
      'a failure of the service',
      named('InternalServerError', { $metadata: { httpStatusCode: 500 } }),
      ServiceError,
      'the service failed: InternalServerError!',
    ],
    [
      'an edit by somebody',
      named('ConditionalCheckFailedException'),
      UserError,
      'another writer edited tier b at the same moment',
    ],
  ])('that %s interrupts report what was written', async (_, fault, kind, why) => {
    const { done, error } = await write(
      changes,
      (command, count) => noTransactions(command) ?? (command === 'PutCommand' && count >= 3 ? fault : undefined),
    )
    expect(done).toHaveLength(2)
    expect(error).toBeInstanceOf(kind)
    expect(error.message).toBe(
      `${why}\nwritten, 2 of 3: tier anonymous, tier a\nnot written: tier b\nThe table is valid as it is. Apply the same file again to continue.`,
    )
  })

  it('that Ctrl-C interrupts finish the current write', async () => {
    const pressed = new AbortController()
    const { calls, done, error } = await write(
      changes,
      (command) => {
        if (command === 'PutCommand') pressed.abort()
        return noTransactions(command)
      },
      pressed,
    )
    expect([calls.length, done]).toEqual([2, ['tier#anonymous']])
    expect(error).toBeInstanceOf(InterruptedError)
    expect(error.message).toContain('stopped\nwritten, 1 of 3: tier anonymous\nnot written: tier a, tier b\n')
  })

  it('that no order can apply one by one are not started', async () => {
    const limit = (name: string) => ({ policies: [{ name, limit: 1, window: '1s', by: 'client' }] })
    const swap = changesOf(
      { tiers: { anonymous: limit('a') }, routes: { 'GET /x': limit('b') } },
      { tiers: { anonymous: limit('b') }, routes: { 'GET /x': limit('a') } },
    )
    const before = swap.map(({ before }) => ({ item: before!, exact: before! }))
    const calls: string[] = []
    const send = async ({ constructor: { name } }: object) => {
      calls.push(name)
      throw named('UnknownOperationException')
    }
    const table = new ConfigTable({ send } as unknown as Documents, 'config')
    await expect(
      writeChanges(
        table,
        before,
        swap,
        () => {},
        new AbortController().signal,
        () => {},
      ),
    ).rejects.toThrow('apply them in two steps')
    expect(calls).toEqual(['TransactWriteCommand'])
  })

  it('that no order can apply one by one, as is found after some were written, are told apart from those', async () => {
    const limit = (name: string) => ({ policies: [{ name, limit: 1, window: '1s', by: 'client' }] })
    const swap = changesOf(
      { tiers: { anonymous: limit('a'), large: limit('c') }, routes: { 'GET /x': limit('b') } },
      { tiers: { anonymous: limit('b'), large: limit('d') }, routes: { 'GET /x': limit('a') } },
    )
    const stored = swap.map(({ sk, before }) => ({
      item: before!,
      exact: sk === 'tier#large' ? { ...before!, padding: 'x'.repeat(3_600_000) } : before!,
    }))
    const send = async ({ constructor: { name } }: object) => {
      const failure = noTransactions(name)
      if (failure) throw failure
      return {}
    }
    const done: Change[] = []
    const error = await writeChanges(
      new ConfigTable({ send } as unknown as Documents, 'config'),
      stored,
      swap,
      (one) => done.push(one),
      new AbortController().signal,
      () => {},
    ).catch((caught) => caught)
    expect(done).toHaveLength(1)
    expect(error).toBeInstanceOf(UserError)
    const [first, written, left, advice] = error.message.split('\n')
    expect(first).toMatch(
      /^this DynamoDB has no transactions, and written one after another the table would be invalid/,
    )
    expect(written).toBe('written, 1 of 3: tier large')
    expect(left).toBe('not written: tier anonymous, route GET /x')
    expect(advice).toBe('The table is valid as it is. Apply what is left in two steps.')
  })
})
