import { EVENTS } from '../../lambda/telemetry/events'
import { ALARMS, type AlarmName } from '../../lib/watch/alarm-set'
import { type Deployment, deploy, TIERS } from '../cli/command-line'
import { gatewayBefore } from '../cli/top/denying-gateway'
import { pageOf } from './examples'
import { commandMistakes, commandsIn, mentionMistakes } from './snippets/commands'

const RUNBOOK = pageOf('runbook.md')
const TROUBLESHOOTING = pageOf('troubleshooting.md')

/** The parts of a page under headings of a level, by heading. */
const partsOf = (page: string, level: string): Map<string, string> =>
  new Map(
    page
      .split(new RegExp(`^${level} `, 'm'))
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n'))]),
  )

const sections = partsOf(RUNBOOK, '##')
const alarms = partsOf(sections.get('Alarms')!, '###')
/** Each row of the events: event, means, look at, do, worry when. */
const events = [...sections.get('Lines of the log')!.matchAll(/^\| `(\w+)` \|(.*)\|$/gm)].map(
  ([, event, cells]) => [event!, cells!.split(' | ').map((cell) => cell.trim())] as const,
)

describe('docs/runbook.md', () => {
  it('has an entry for each alarm, and none of another', () => {
    expect([...alarms.keys()]).toEqual(Object.keys(ALARMS))
  })

  it.each([...alarms])('says of %s what it means, what to look at, what to do and when to worry', (name, entry) => {
    const labels = [...entry.matchAll(/^- \*\*(.*?):\*\* \S/gm)].map(([, label]) => label)
    expect(labels).toEqual(['Means', 'Look at', 'Do', 'Worry when'])
    const { threshold = 'the threshold', period, periods, unit } = ALARMS[name as AlarmName]
    const intro = entry.slice(0, entry.indexOf('- **Means'))
    expect(intro).toContain({ count: `${threshold}`, percent: `${threshold} %`, ms: `${threshold} ms` }[unit])
    if (name === 'concurrency') return // at any moment
    const minutes = period.toMinutes() * periods
    expect(intro).toContain(periods > 1 ? `${minutes} minutes in a row` : minutes === 1 ? 'a minute' : '5 minutes')
  })

  it('has a row for each event of the log, and none of another', () => {
    expect(events.map(([event]) => event)).toEqual(Object.keys(EVENTS))
    for (const [event, cells] of events) expect([event, cells.filter((cell) => cell !== '').length]).toEqual([event, 4])
  })
})

describe('docs/troubleshooting.md', () => {
  it('has the symptoms', () => {
    expect([...partsOf(TROUBLESHOOTING, '##').keys()]).toEqual([
      'Everything is 500',
      'Nothing is limited',
      '403 and not 429',
      'Clients see no headers',
      'CORS error instead of 429',
      'Limits take effect late',
      'One client is denied too early',
      'Cost went up',
    ])
  })
})

/** Each command of Sluice in a page, in a block or in its prose, without the name of the program. */
function commandsOf(page: string): string[][] {
  const blocks = [...page.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text]) => text!)
  const prose = page.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
  const mentions = [...prose.matchAll(/`((?:npx )?sluice [^`]+)`/g)].map(([, text]) => text!.replaceAll(/\s+/g, ' '))
  return [...blocks, ...mentions]
    .flatMap(commandsIn)
    .map((words) => (words[0] === 'npx' ? words.slice(1) : words))
    .filter(([first]) => first === 'sluice')
    .map((words) => words.slice(1))
}

const COMMANDS = [...new Set([RUNBOOK, TROUBLESHOOTING].flatMap(commandsOf).map((words) => words.join('\0')))].map(
  (words) => words.split('\0'),
)
/** Those whose arguments a reader fills in, and those that need AWS, a file of the reader's, or two lines at once. */
const isRunHere = async (words: readonly string[]): Promise<boolean> => {
  const quoted = words.map((word) => (/\s/.test(word) ? `"${word}"` : word))
  const isWhole = (await commandMistakes(['sluice', ...quoted].join(' '))).length === 0
  return isWhole && !/^(attach|status|top$|simulate|doctor --e|tiers (apply|diff)|off|on)/.test(words.join(' '))
}

describe('the commands of both pages', () => {
  let at: Deployment
  let gateway: Awaited<ReturnType<typeof gatewayBefore>>
  beforeAll(async () => {
    at = await deploy()
    gateway = await gatewayBefore(at)
    const routes = ['GET /search', 'POST /batch'].map((route) => ({ pk: 'policy-set', sk: `route#${route}`, cost: 2 }))
    await at.put(...TIERS, ...routes)
    await at.json(['clients', 'create', 'acme', '--tier', 'free'])
  })
  afterAll(async () => {
    await gateway?.close()
    await at?.close()
  })

  it('are commands that there are', async () => {
    expect(COMMANDS.length).toBeGreaterThan(15)
    const mistakes = await Promise.all(
      COMMANDS.map((words) => mentionMistakes(`sluice ${words.map((word) => `'${word}'`).join(' ')}`)),
    )
    expect(mistakes.flat()).toEqual([])
  })

  it('run on a deployment, as far as they need nothing else', async () => {
    const ran: string[] = []
    for (const words of COMMANDS) {
      if (!(await isRunHere(words))) continue

      const isTop = words[0] === 'top'
      const { code, err } = await at.sluice(isTop ? [...words, '--gateway', gateway.url] : words)
      // Nobody has the hash that the pages show, and this deployment has neither a function nor time to live.
      const expected = /^(whois|doctor)|client~/.test(words.join(' ')) ? [0, 1] : [0]
      expect({ words, err, is: expected.includes(code) }).toEqual({ words, err, is: true })
      ran.push(words[0]!)
    }
    expect(new Set(ran)).toEqual(
      new Set([
        'doctor',
        'tiers',
        'clients',
        'block',
        'usage',
        'peek',
        'whois',
        'reset',
        'hmac-key',
        'signing-key',
        'top',
      ]),
    )
  })
})
