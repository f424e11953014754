import { onAbort, within } from '../../limiter/deadline'

beforeEach(() => jest.useFakeTimers())
afterEach(() => jest.useRealTimers())

const never = new Promise<string>(() => {})
const late = (): never => {
  throw new Error('late')
}

it('gives what the work comes to, and leaves no timer', async () => {
  expect(await within(100, Promise.resolve('done'), late)).toBe('done')
  await expect(within(100, Promise.reject(new Error('broken')), late)).rejects.toThrow('broken')
  expect(jest.getTimerCount()).toBe(0)
})

it('gives what is said in its place once time is up, and not a millisecond sooner', async () => {
  const answers: string[] = []
  void within(100, never, () => 'late').then((answer) => answers.push(answer))
  await jest.advanceTimersByTimeAsync(99)
  expect(answers).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  expect(answers).toEqual(['late'])
})

it('rejects with what is thrown in its place, though the work fails at being ended', async () => {
  let fail = (_: Error) => {}
  const work = new Promise<never>((_, reject) => {
    fail = reject
  })
  const endAndThrow = () => {
    fail(new Error('ended'))
    return late()
  }
  const answer = expect(within(100, work, endAndThrow)).rejects.toThrow('late')
  await jest.advanceTimersByTimeAsync(100)
  await answer
})

it('waits for nothing where no time is left', async () => {
  const answer = within(-5, never, () => 'late')
  await jest.advanceTimersByTimeAsync(0)
  expect(await answer).toBe('late')
})

it('calls all back who wait for one signal, but those that called it off, and listens while anybody waits', () => {
  const { signal, abort } = abortable()
  const listens = jest.spyOn(signal, 'addEventListener')
  const leaves = jest.spyOn(signal, 'removeEventListener')
  const told: string[] = []
  const [callOff, ...others] = ['a', 'b', 'c'].map((name) => onAbort(signal, () => told.push(name)))
  callOff!()
  callOff!()
  abort()
  expect(told).toEqual(['b', 'c'])
  expect([listens, leaves].map(({ mock }) => mock.calls.length)).toEqual([1, 0])
  for (const leave of others) leave()
  expect(leaves).toHaveBeenCalledTimes(1)
})

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
