import { join } from 'node:path'
import { readTiersFile } from '../../cli/tiers/tiers-yaml'
import type { Engine } from '../../local/engines/engine'
import { welcome } from '../../local/welcome'

const TIERS = readTiersFile(join(__dirname, '..', '..', 'tiers.yaml'))
const engine = { name: 'dynalite', endpoint: 'http://127.0.0.1:13000' } as Engine
const options = { tiers: 'tiers.yaml', port: 3000, api: 'rest', instances: 1 } as const
const linesAfter = (text: string, line: string) => text.split(`${line}\n`)[1]!.split('\n')

describe('what npm start prints', () => {
  it('is the address, three things to try, and where the rest is', () => {
    const text = welcome({ url: 'http://localhost:3000', engine, options, tiers: TIERS })
    expect(text).toMatch(/^Open http:\/\/localhost:3000\/_local\/ /)
    expect(linesAfter(text, 'Try, in another terminal').slice(0, 4)).toEqual([
      '  curl -i "http://localhost:3000/hello?[1-25]"        # that many requests: the last ones are denied',
      '  curl -i -H "X-Api-Key: demo-free-key" http://localhost:3000/hello',
      '  npx sluice top --gateway http://localhost:3000        # who is denied, and by which policy',
      'All commands: npx sluice --help, with --endpoint http://127.0.0.1:13000 for these tables. A tour: docs/tutorial.md',
    ])
    expect(text.split('\n').length).toBeLessThan(25)
  })

  it('is for a WebSocket API a client of one', () => {
    const socket = { ...options, api: 'websocket', routes: ['send'] } as const
    const text = welcome({ url: 'ws://localhost:3000/local', engine, options: socket, tiers: TIERS })
    expect(linesAfter(text, 'Try, in another terminal').slice(0, 2)).toEqual([
      expect.stringMatching(/^ {2}wscat -c ws:\/\/localhost:3000\/local {8}# then type /),
      '  wscat -H "X-Api-Key: demo-free-key" -c ws://localhost:3000/local',
    ])
  })
})
