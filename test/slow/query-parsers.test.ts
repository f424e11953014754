import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { NO_FACTS } from '../../lambda/cost'
import { headerReadings } from '../../lambda/cost-readings'
import { cheaperThanRead, targets } from '../evasion/query-law'
import { type QueryParser, type Reading, readBy } from '../evasion/query-parsers'

const script = (name: string) => join(__dirname, name)

/** What a program reads in queries that it gets as JSON. */
const program =
  (command: string, ...args: readonly string[]): QueryParser =>
  async (sent) => {
    const input = JSON.stringify(sent.map((target) => target.split('?').slice(1).join('?')))
    const { stdout, stderr } = spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 1e9 })
    if (stderr !== '') throw new Error(stderr)
    const readings: readonly Reading[] = JSON.parse(stdout)
    return readings.map((reading, i) => (sent[i]!.split('?')[0] === '/reports' ? (reading ?? undefined) : undefined))
  }

const python = (parser: string) => program('python3', script('query-parsers.py'), parser)
const rack = (parser: string) => program('ruby', script('query-parsers.rb'), parser)
const PARSERS: readonly (readonly [title: string, parser: QueryParser, needs: readonly string[]])[] = [
  ...[
    'parse_qs',
    'parse_qs with blank values',
    'parse_qsl, the last one',
    'parse_qsl, the first one',
    'semicolons, as before Python 3.10',
  ].map((one) => [`Python: ${one}`, python(one), ['python3', '-c', '0']] as const),
  ...['parse_nested_query', 'parse_query', 'Rack::Request'].map(
    (one) => [`Rack: ${one}`, rack(one), ['ruby', '-rrack', '-e', '0']] as const,
  ),
  ['PHP: parse_str', program('php', script('query-parsers.php')), ['php', '-r', '0;']],
]

const runs = ([command = '', ...args]: readonly string[]) => spawnSync(command, args).status === 0

describe('no spelling of a parameter is cheaper than the value that the backend reads:', () => {
  for (const [title, parser, needs] of PARSERS) {
    const isThere = runs(needs)
    const test = isThere ? it : it.skip
    test(isThere ? title : `${title}: skipped, \`${needs.join(' ')}\` does not run here`, async () => {
      const [rows, size] = await parser(['/reports?rows=25', '/reports?page[size]=25'])
      expect([[rows?.rows].flat(), [size?.size].flat()]).toEqual([['25'], ['25']])
      expect(await cheaperThanRead(parser, targets(10_000))).toEqual([])
    })
  }
})

const describeWsgi = runs(['python3', '-c', '0']) ? describe : describe.skip
describeWsgi('a WSGI server', () => {
  let server: ChildProcess
  let port: number
  beforeAll(async () => {
    server = spawn('python3', [script('query-parsers.py'), '--wsgi'])
    const [line] = await once(server.stdout!, 'data')
    port = Number(line)
  })
  afterAll(async () => {
    const exited = once(server, 'exit')
    server.kill()
    await exited
  })

  it('reads no parameter that is cheaper than its value', async () => {
    const parser: QueryParser = async (sent) => {
      const readings: Reading[] = []
      for (const path of sent) readings.push(await readBy({ host: '127.0.0.1', port, path }))
      return readings
    }
    expect(await cheaperThanRead(parser, targets(1000))).toEqual([])
  })

  it.each(['X-Rows', 'x_rows', 'X_Rows'])('takes the header %s for x-rows, and Sluice finds it', async (name) => {
    const read = await readBy({ host: '127.0.0.1', port, path: '/reports', headers: { [name]: '900' } })
    expect(read).toMatchObject({ header: '900' })
    const headers = new Map([[name.toLowerCase(), '900']])
    expect(headerReadings({ ...NO_FACTS, headers }, 'x-rows')).toEqual(name === 'X-Rows' ? ['900'] : 'ambiguous')
  })
})
