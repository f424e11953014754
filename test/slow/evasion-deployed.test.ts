import { existsSync, mkdtempSync, rmSync, writeSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { itemsOf, type TiersFile } from '../../provisioning/tiers-file'
import { sluice } from '../cli/command-line'
import { type DeployedApis, deployApis, NAMES } from '../engines/attacked-apis'
import { MINISTACK, type MiniStack, startMiniStack } from '../engines/ministack'
import { type Attack, onlyInProcess } from '../evasion/attack'
import { ATTACKS } from '../evasion/attacks'
import { addressOf, BLOCK, HOP, sentAs } from '../evasion/events-of'
import { RULES } from '../evasion/rules'

/** Routes of the HTTP API that attacks are on. */
const ROUTES = [...new Set(ATTACKS.flatMap(({ route = [] }) => route))]

/** What MiniStack does in another way than AWS, by what was tried. */
const DIFFERENT: Readonly<Record<string, string>> = {
  '`OPTIONS` for another method': 'it answers `OPTIONS` of HTTP APIs by itself',
  '`OPTIONS` where credentials are required': 'it answers `OPTIONS` of HTTP APIs by itself',
  'a fake preflight where `OPTIONS` has a route': 'it answers `OPTIONS` of HTTP APIs by itself',
  'endless preflights': 'it answers `OPTIONS` of HTTP APIs by itself',
  '`OPTIONS` from an address that is blocked': 'it answers `OPTIONS` of HTTP APIs by itself',
  'a path with more readings than are considered': 'it decodes the paths of REST APIs',
  'a path of thousands of dots and slashes': 'it decodes the paths of REST APIs',
  'a slash inside a parameter: `/files/a%2Fb/export`': 'it decodes a path before it chooses the route',
}

/** Why MiniStack cannot carry an attack; nothing where it can. */
function notCarried(attack: Attack): string | undefined {
  return DIFFERENT[attack.tried] ?? (attack.route ? undefined : onlyInProcess(attack))
}

/** Requests past those that pass: enough to see that there it ends. MiniStack takes a second to answer 401. */
const MORE = 3

const PLACED = ATTACKS.map((attack, place) => ({ attack, place, title: `${attack.tried} (${attack.api ?? 'rest'})` }))
const CARRIED = PLACED.filter(({ attack }) => notCarried(attack) === undefined)

const group = existsSync(MINISTACK) ? describe : describe.skip

group(
  `a deployed API under attack${existsSync(MINISTACK) ? '' : ' (skipped: MiniStack is not installed, bash .ci/ministack does)'}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-evasion-'))
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    const environment = { ...process.env }
    let aws: MiniStack
    let apis: DeployedApis

    beforeAll(async () => {
      aws = await startMiniStack()
      Object.assign(process.env, aws.env) // where the SDK of the command line looks
      const rules = itemsOf(RULES as unknown as TiersFile)
      apis = await deployApis(aws, folder, [...rules, { pk: 'policy-set', sk: `block#${BLOCK}` }], ROUTES)
      for (const id of [apis.rest, apis.http]) {
        const said = await sluice(['attach', id, '--yes', '--function', NAMES.function, '--table', NAMES.config], {
          env: aws.env,
        })
        expect(said).toMatchObject({ code: 0, out: expect.stringContaining('attached: ') })
      }
    }, 120_000)
    afterAll(async () => {
      agent.destroy()
      await aws?.stop()
      process.env = environment
      rmSync(folder, { recursive: true, force: true })
    })

    /** Sends a path as it is, which `URL` and `fetch` would not. */
    function send(
      api: 'rest' | 'http',
      method: string,
      path: string,
      headers: Readonly<Record<string, string>>,
    ): Promise<number> {
      const { hostname: host, port } = new URL(aws.env.AWS_ENDPOINT_URL!)
      const options = {
        host,
        port,
        method,
        path: `/prod${path}`,
        headers: { ...headers, Host: `${apis[api]}.execute-api.localhost` },
        agent,
      }
      return new Promise((resolve, reject) => {
        const sent = request(options, (response) => response.resume().on('end', () => resolve(response.statusCode!)))
        sent.on('error', reject).end()
      })
    }

    it.each(CARRIED.map((one) => [one.title, one] as const))('%s', async (_, { attack, place }) => {
      const { api = 'rest', times = 30, passes } = attack
      const count = Math.min(times, passes + MORE)
      const statuses: number[] = []
      for (let n = 0; n < count; n++) {
        const { method = 'GET', path, headers = {} } = sentAs(attack, n)
        const address = headers['X-Forwarded-For'] ?? addressOf(attack, place)
        statuses.push(
          await send(api as 'rest' | 'http', method, path, { ...headers, 'X-Forwarded-For': `${address}, ${HOP}` }),
        )
      }
      expect(statuses.filter((status) => status === 200)).toHaveLength(passes)
      const denied = new Set(statuses.filter((status) => status !== 200))
      for (const status of denied) expect(api === 'rest' ? [401, 429] : [403]).toContain(status)
    })

    it('carries more than half of the attacks that need no failing tables and no rules of their own, and the others are named', () => {
      const left = PLACED.map(({ attack, title }) => [notCarried(attack), title] as const)
      for (const reason of new Set(left.map(([why]) => why))) {
        const titles = left.flatMap(([why, title]) => (why === reason ? [title] : []))
        if (reason) writeSync(1, `# not made on MiniStack, since ${reason}: ${titles.join('; ')}\n`)
      }
      expect(CARRIED.length).toBeGreaterThan(ATTACKS.filter(({ world, rules }) => !world && !rules).length / 2)
      for (const tried of Object.keys(DIFFERENT)) expect(ATTACKS.map((attack) => attack.tried)).toContain(tried)
    })
  },
)
