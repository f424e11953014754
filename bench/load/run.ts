import { StartError } from '../../local/start-error'
import { CountingClient, startBenchEngine } from '../engine'
import type { Figure } from '../figure'
import { machine } from '../machine'
import { Proxies } from '../proxies'
import { partText, reportHead, tableText } from '../report'
import { CONNECTIONS } from './fire'
import { type Measured, measureDenials, measureShape, type Taken } from './measure'
import { LOAD_HELP, parseLoadOptions } from './options'
import { seedShapes } from './seed'
import { type Shape, shapes } from './shapes'
import { startGatewayTarget, startHandlerTarget } from './targets'

const STARTERS = { gateway: startGatewayTarget, handler: startHandlerTarget } as const
const TITLES = {
  gateway: '`npm start`: API, two authorizer instances with the real bundle, backend',
  handler: "The bare handler: the real bundle's, one event at a time, behind a server of twenty lines",
} as const

async function main(): Promise<void> {
  const { help, smoke, engine: wish } = parseLoadOptions(process.argv.slice(2))
  if (help) return void process.stdout.write(LOAD_HELP)
  const all = shapes(smoke ? 400 : 4000)
  const stops: (() => Promise<void>)[] = []
  try {
    const engine = await startBenchEngine(wish)
    stops.push(() => engine.stop())
    const client = new CountingClient(engine)
    await seedShapes(client, Object.keys(STARTERS), all)
    client.destroy()
    const proxies = new Proxies()
    stops.push(() => proxies.stop())
    console.log(
      reportHead({
        ...machine(),
        engine: engine.name,
        quick: smoke,
        notes: [`${CONNECTIONS} connections, every call counted by a proxy.`],
      }),
    )

    const wrong: string[] = []
    const cost: { figures: Figure[]; details: string[] } = { figures: [], details: [] }
    for (const [name, start] of Object.entries(STARTERS)) {
      const proxy = await proxies.open(engine.endpoint)
      const target = await start(proxy.endpoint)
      stops.push(() => target.stop())
      const measured = { name, target, proxy }
      const taken = await measureShapes(measured, all)
      console.log(shapesText(TITLES[name as keyof typeof TITLES], taken))
      wrong.push(...taken.flatMap((one) => one.wrong))
      const { figures, note } = await measureDenials(measured, all[0]!, all[3]!, smoke)
      cost.figures.push(...figures)
      cost.details.push(note)
      wrong.push(
        ...figures.filter(({ met }) => !met).map(({ figure }) => `${figure} is not below that of an allowed one`),
      )
    }
    console.log(partText({ title: 'A denied request against an allowed one', ...cost }))
    if (wrong.length > 0) process.exitCode = 1
    console.log(
      wrong.length === 0
        ? 'Admitted equals expected, and denials cost less than allowed requests.'
        : `Wrong:\n${wrong.map((text) => `  ${text}`).join('\n')}`,
    )
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

async function measureShapes(measured: Measured, all: readonly Shape[]): Promise<Taken[]> {
  const taken: Taken[] = []
  for (const [i, shape] of all.entries()) taken.push(await measureShape(measured, shape, i))
  return taken
}

function shapesText(title: string, taken: readonly Taken[]): string {
  const head = [
    'traffic',
    'requests/s',
    'p50',
    'p99',
    'calls per decision',
    'goal',
    'admitted',
    'due',
    'denied',
    'config reads',
  ]
  const rows = taken.map((one) => [
    one.shape,
    one.perSecond.toFixed(0),
    `${one.p50Ms.toFixed(1)} ms`,
    `${one.p99Ms.toFixed(1)} ms`,
    one.calls.measured.toFixed(3),
    `≤ ${(one.calls.goal as { atMost: number }).atMost.toFixed(2)}${one.calls.met ? '' : ', missed'}`,
    String(one.admitted),
    String(one.due),
    `${((100 * (one.requests - one.admitted)) / one.requests).toFixed(1)} %`,
    String(one.configCalls),
  ])
  return `${title}\n\n${tableText(head, rows)}\n`
}

main().catch((error: unknown) => {
  console.error(error instanceof StartError ? `bench:load: ${error.message}` : error)
  process.exitCode = 1
})
