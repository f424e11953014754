import { APIGatewayClient } from '@aws-sdk/client-api-gateway'
import type { ApiState } from '../../cli/attach/api-state'
import { Calls, MissingRights, readAll } from '../../cli/attach/calls'
import { RestApi } from '../../cli/attach/rest-api'
import { FakeAws } from './fake-aws'
import { failure } from './fake-service'

const throttled = () => failure('TooManyRequestsException', 429, 'Too Many Requests')

/** Calls that do not really wait, and what they would have waited. */
function hurried(): { calls: Calls; waits: number[]; told: string[] } {
  const waits: number[] = []
  const told: string[] = []
  const calls = new Calls(
    (text) => told.push(text),
    async (ms) => void waits.push(ms),
  )
  return { calls, waits, told }
}

describe('an API Gateway call', () => {
  it('is retried with growing waits while it is throttled, and says so', async () => {
    const { calls, waits, told } = hurried()
    let left = 3
    const answer = calls.make('apigateway:PATCH', '/restapis/a', async () => {
      if (left-- > 0) throw throttled()
      return 'done'
    })
    await expect(answer).resolves.toBe('done')
    expect(waits).toEqual([1000, 2000, 5000])
    expect(told[0]).toBe('apigateway:PATCH is throttled, trying again in 1 s')
  })

  it('is given up after a minute and a half', async () => {
    const { calls, waits } = hurried()
    await expect(calls.make('a:B', 'c', () => Promise.reject(throttled()))).rejects.toThrow('Too Many Requests')
    expect(waits.reduce((sum, ms) => sum + ms)).toBe(88_000)
  })

  it('is retried after a concurrent modification, but not after a bad request', async () => {
    const { calls, waits } = hurried()
    const conflict = failure(
      'ConflictException',
      409,
      'Unable to complete operation due to concurrent modification. Please try again later.',
    )
    let first = true
    const answer = calls.make('a:B', 'c', async () => {
      if (first) {
        first = false
        throw conflict
      }
    })
    await expect(answer).resolves.toBeUndefined()
    expect(waits).toHaveLength(1)
    await expect(
      calls.make('a:B', 'c', () => Promise.reject(failure('BadRequestException', 400, 'no'))),
    ).rejects.toThrow('no')
    expect(waits).toHaveLength(1)
  })

  it('reports the missing right; several reads report all of them', async () => {
    const { calls } = hurried()
    const denied = (action: string) => () =>
      calls.make(action, 'x', () => Promise.reject(failure('AccessDeniedException', 403, 'no')))
    await expect(denied('a:B')()).rejects.toThrow(new MissingRights([{ action: 'a:B', resource: 'x' }]).message)
    await expect(readAll({ one: denied('a:B'), two: async () => 2, three: denied('c:D') })).rejects.toThrow(
      'missing rights: a:B on x, c:D on x',
    )
  })
})

describe('a REST API whose every call is throttled at first', () => {
  afterEach(() => jest.restoreAllMocks())

  it('is read completely, page by page', async () => {
    const aws = new FakeAws()
    const read = (calls: Calls): Promise<ApiState> =>
      new RestApi(new APIGatewayClient({ region: 'us-east-1' }), calls, { id: aws.rest.id, name: 'zoo' }).read()
    const expected = await read(new Calls())
    let turn = 0
    aws.hooks = {
      before: () => {
        if (turn++ % 2 === 0) throw throttled()
      },
    }
    const { calls, waits } = hurried()
    expect(await read(calls)).toEqual(expected)
    expect(waits.length).toBeGreaterThan(5)
    expect(expected.methods).toHaveLength(7)
  })
})
