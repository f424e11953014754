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

test('the circuit breaker opens at five failures that are half of all calls, and reports it once', () => {
  const { circuit, changes, fail, succeed } = breaker()
  succeed(5)
  fail(4)
  expect(circuit.allows()).toBe(true)
  fail(1)
  expect(circuit.allows()).toBe(false)
  expect(changes).toEqual(['open'])
})

test('the circuit breaker stays closed while fewer than half of all calls fail', () => {
  const { circuit, fail, succeed } = breaker()
  for (let i = 0; i < 100; i++) {
    succeed(2)
    fail(1)
  }
  expect(circuit.isOpen).toBe(false)
})

test('the circuit breaker does not count old failures', () => {
  const { circuit, clock, fail } = breaker()
  fail(4)
  clock.at += 10_000
  fail(4)
  expect(circuit.isOpen).toBe(false)
})

test.each([
  [2499, 0, true],
  [2500, 0, false],
  [2999, 2000, true],
  [3000, 2000, false],
])('with a failing call every %i ms, the first %i ms late, the circuit breaker opens: %s', (ms, lateMs, opens) => {
  const { circuit, clock } = breaker()
  circuit.report(false, clock.at + lateMs)
  for (let calls = 1; calls < 100 && !circuit.isOpen; calls++) {
    clock.at += ms
    circuit.report(false)
  }
  expect(circuit.isOpen).toBe(opens)
})

test('the circuit breaker counts failures over ten seconds, which begin anew when the clock was set back so far', () => {
  const { circuit, clock, fail, succeed } = breaker()
  fail(4)
  clock.at -= 10_000
  succeed(8) // of a period of their own, as are the next
  fail(4)
  clock.at += 10_000
  fail(4)
  expect(circuit.isOpen).toBe(false)
  clock.at += 9_999
  fail(1)
  expect(circuit.isOpen).toBe(true)
})

test('the circuit breaker counts from nothing after it has closed', () => {
  const { circuit, fail, succeed } = breaker()
  succeed(5)
  fail(5)
  succeed(1)
  fail(4)
  expect(circuit.isOpen).toBe(false)
  fail(1)
  expect(circuit.isOpen).toBe(true)
})

test('a probe that does not return in half a minute was frozen with its instance: another one follows', () => {
  const { circuit, clock, fail } = breaker()
  fail(5)
  clock.at += 1000
  expect(circuit.allows()).toBe(true)
  clock.at += 29_999
  expect(circuit.allows()).toBe(false)
  clock.at += 1
  expect([circuit.allows(), circuit.allows()]).toEqual([true, false])
  clock.at -= 90_000
  expect(circuit.allows()).toBe(true)
})

test('the pause of the circuit breaker begins when the call ended that opened it', () => {
  const { circuit, clock, fail } = breaker()
  fail(4)
  circuit.report(false, clock.at - 400)
  clock.at += 600
  expect(circuit.allows()).toBe(true)
})

test('the circuit breaker lets one call probe after its pause, and no other until that has returned', () => {
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

test('each failed probe doubles the pause of the circuit breaker, up to half a minute', () => {
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

test('the pauses of the circuit breaker vary by up to half in either direction', () => {
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

test('a call that was under way when the circuit breaker opened closes it by succeeding, and changes nothing by failing', () => {
  const { circuit, fail, succeed } = breaker()
  fail(5)
  fail(3)
  expect(circuit.allows()).toBe(false)
  succeed(1)
  expect(circuit.allows()).toBe(true)
})

test('a clock that is set back by hours does not keep the circuit breaker open', () => {
  const { circuit, clock, fail } = breaker()
  fail(5)
  clock.at -= 7_200_000
  expect(circuit.allows()).toBe(true)
})

test('a clock that is set back by a minute keeps the circuit breaker open no longer', () => {
  const { circuit, clock, fail } = breaker()
  fail(5)
  const openUntil = clock.at + 1000
  clock.at = openUntil - 59_999
  expect(circuit.allows()).toBe(false)
  clock.at = openUntil - 60_000
  expect(circuit.allows()).toBe(true)
})

test('failures of calls that were under way when the circuit breaker opened do not prolong its pause', () => {
  const { circuit, clock, fail } = breaker()
  fail(8)
  clock.at += 1000
  expect(circuit.allows()).toBe(true)
})

test('the circuit breaker works without a listener, and draws its own random pauses', () => {
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

test('an open circuit breaker that somebody waits for lets a probe through within that time, and no later than else', () => {
  const { circuit, clock, fail } = breaker()
  fail(5)
  circuit.probeWithin(5000)
  clock.at += 999
  expect(circuit.allows()).toBe(false)
  clock.at += 1
  expect(circuit.allows()).toBe(true)
  for (let probe = 0; probe < 3; probe++) {
    circuit.report(false)
    clock.at += 30_000
    expect(circuit.allows()).toBe(true)
  }
  circuit.report(false)
  circuit.probeWithin(500)
  clock.at += 499
  expect(circuit.allows()).toBe(false)
  clock.at += 1
  expect(circuit.allows()).toBe(true)
})
