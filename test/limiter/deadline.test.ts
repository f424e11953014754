import type { EndSignal } from '../../limiter/deadline'
import { Deadline } from '../../limiter/deadline'
import { StoreUnavailableError } from '../../limiter/errors'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const never = () => new Promise<never>(() => {})

/** The state of a call so far. */
function watch(call: Promise<unknown>) {
  const seen: { error?: unknown } = {}
  call.catch((error) => {
    seen.error = error
  })
  return seen
}

describe('a call inside a deadline', () => {
  it('gets its share of the remaining time, and then fails with an error that says so', async () => {
    const deadline = new Deadline(300)
    await jest.advanceTimersByTimeAsync(100)
    expect(deadline.leftMs).toBe(200)
    const call = watch(deadline.bound(0.6, never))
    await jest.advanceTimersByTimeAsync(119)
    expect(call.error).toBeUndefined()
    await jest.advanceTimersByTimeAsync(1)
    expect(call.error).toBeInstanceOf(StoreUnavailableError)
    expect(call.error).toMatchObject({ reason: 'timeout', message: 'the store did not answer within 120 ms' })
  })

  it('is told to stop by its signal, whether it listens for abort or reads it', async () => {
    const signals: EndSignal[] = []
    const ended = jest.fn()
    const call = (signal: EndSignal) => {
      signals.push(signal)
      if (signals.length === 1) signal.onabort = ended
      return never()
    }
    watch(new Deadline(50).bound(1, call))
    watch(new Deadline(50).bound(1, call))
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
    await jest.advanceTimersByTimeAsync(50)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
    expect(ended).toHaveBeenCalledTimes(1)
  })

  it('that answers or fails in time is not ended later, and leaves no timer behind', async () => {
    const ended = jest.fn()
    const answer = (signal: EndSignal) => {
      signal.onabort = ended
      return Promise.resolve('answer')
    }
    expect(await new Deadline(50).bound(1, answer)).toBe('answer')
    await expect(new Deadline(50).bound(1, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect(jest.getTimerCount()).toBe(0)
    await jest.advanceTimersByTimeAsync(100)
    expect(ended).not.toHaveBeenCalled()
  })

  it('that begins after the deadline still gets a millisecond', async () => {
    const deadline = new Deadline(50)
    await jest.advanceTimersByTimeAsync(80)
    expect(deadline.leftMs).toBe(-30)
    const call = watch(deadline.bound(1, never))
    await jest.advanceTimersByTimeAsync(0)
    expect(call.error).toBeUndefined()
    await jest.advanceTimersByTimeAsync(1)
    expect(call.error).toMatchObject({ message: 'the store did not answer within 1 ms' })
  })
})
