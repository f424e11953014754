import { CircuitBreaker } from '../../limiter/circuit-breaker'

function breaker(random = 0.5) {
  const clock = { at: 1_000_000 }
  const changes: string[] = []
  const circuit = new CircuitBreaker({
    clock: () => clock.at,
    random: () => random,
    onChange: (state) => changes.push(state),
  })
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) circuit.report(false)
  }
  const succeed = (times: number) => {
    for (let i = 0; i < times; i++) circuit.report(true)
  }
  return { circuit, clock, changes, fail, succeed }
}

test('it opens at five failures that are half of all calls, and says so once', () => {
  const { circuit, changes, fail, succeed } = breaker()
  succeed(5)
  fail(4)
  expect(circuit.allows()).toBe(true)
  fail(1)
  expect(circuit.allows()).toBe(false)
  expect(changes).toEqual(['open'])
})

test('failures that are fewer than half never open it', () => {
  const { circuit, fail, succeed } = breaker()
  for (let i = 0; i < 100; i++) {
    succeed(2)
    fail(1)
  }
  expect(circuit.isOpen).toBe(false)
})

test('failures of long ago do not count', () => {
  const { circuit, clock, fail } = breaker()
  fail(4)
  clock.at += 10_000
  fail(4)
  expect(circuit.isOpen).toBe(false)
})

test('after its pause one call probes it, and no other until that has come back', () => {
  const { circuit, clock, changes, fail } = breaker()
  fail(5)
  clock.at += 999
  expect(circuit.allows()).toBe(false)
  clock.at += 1
  expect([circuit.allows(), circuit.allows(), circuit.allows()]).toEqual([true, false, false])
  circuit.report(true)
  expect([circuit.allows(), circuit.allows()]).toEqual([true, true])
  expect(changes).toEqual(['open', 'closed'])
})

test('each probe that fails doubles the pause, up to half a minute', () => {
  const { circuit, clock, changes, fail } = breaker()
  fail(5)
  const pauses = [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
  for (const pause of pauses) {
    clock.at += pause - 1
    expect(circuit.allows()).toBe(false)
    clock.at += 1
    expect(circuit.allows()).toBe(true)
    circuit.report(false)
  }
  expect(changes).toEqual(['open'])
})

test('pauses differ by up to half to either side', () => {
  for (const [random, pause] of [
    [0, 500],
    [0.999, 1499],
  ] as const) {
    const { circuit, clock, fail } = breaker(random)
    fail(5)
    clock.at += pause - 1
    expect(circuit.allows()).toBe(false)
    clock.at += 1
    expect(circuit.allows()).toBe(true)
  }
})

test('a call that was under way when it opened closes it when it succeeds, and changes nothing when it fails', () => {
  const { circuit, fail, succeed } = breaker()
  fail(5)
  fail(3)
  expect(circuit.allows()).toBe(false)
  succeed(1)
  expect(circuit.allows()).toBe(true)
})

test('a clock that is set back by hours does not keep it open', () => {
  const { circuit, clock, fail } = breaker()
  fail(5)
  clock.at -= 7_200_000
  expect(circuit.allows()).toBe(true)
})

test('a clock that is set back by a minute keeps it open no longer', () => {
  const { circuit, clock, fail } = breaker()
  fail(5)
  const openUntil = clock.at + 1000
  clock.at = openUntil - 59_999
  expect(circuit.allows()).toBe(false)
  clock.at = openUntil - 60_000
  expect(circuit.allows()).toBe(true)
})

test('calls that were under way when it opened and fail make its pause no longer', () => {
  const { circuit, clock, fail } = breaker()
  fail(8)
  clock.at += 1000
  expect(circuit.allows()).toBe(true)
})

test('it tells nobody where nobody wants to know, and draws its pauses by itself', () => {
  let now = 0
  const circuit = new CircuitBreaker({ clock: () => now })
  for (let i = 0; i < 5; i++) circuit.report(false)
  now = 499
  expect(circuit.allows()).toBe(false)
  now = 1500
  expect(circuit.allows()).toBe(true)
  circuit.report(true)
  expect(circuit.isOpen).toBe(false)
})
