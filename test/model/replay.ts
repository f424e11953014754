import { judge } from './judge'
import type { Breach } from './laws'
import type { Scenario } from './scenario'
import { type Chronicle, Simulation, type SimulationOptions } from './simulation'

/** Runs a scenario, and fails with a report if it breaks a law. */
export async function replay(scenario: Scenario, options: SimulationOptions = {}): Promise<Chronicle> {
  const chronicle = await new Simulation(scenario, options).run()
  const breaches = judge(chronicle)
  if (breaches.length > 0) throw new Error(report(chronicle, breaches))
  return chronicle
}

export function report({ scenario, lines }: Chronicle, breaches: readonly Breach[]): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(3).padStart(9)} s`
  return [
    `${breaches[0]!.law.toUpperCase()}: ${breaches[0]!.text}`,
    ...breaches.slice(1, 6).map(({ law, text }) => `also ${law}: ${text}`),
    '',
    ...scenario.policies.map((policy) => `policy ${JSON.stringify(policy)}`),
    ...scenario.instances.map(
      ({ skewMs, old }, i) => `instance ${i}${old ? ' (old)' : ''}: its clock is off by ${skewMs} ms`,
    ),
    ...[...lines].sort((a, b) => a.at - b.at).map(({ at, text }) => `${seconds(at)}  ${text}`),
    '',
    'A test to paste into test/model/replays.test.ts:',
    '',
    `it('${breaches[0]!.law}: ', () => replay(${JSON.stringify(scenario)}))`,
    '',
  ].join('\n')
}
