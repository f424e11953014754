import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { announcedGateways, announceGateway } from '../../cli/tables/gateway-files'
import { gatewayOfEngine, meantGateway, onlyGateway } from '../../cli/tables/local-gateway'

const DYNAMODB = 'http://127.0.0.1:13001'
let folder: string
let env: Record<string, string>
const servers: Server[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-run-'))
  env = { XDG_RUNTIME_DIR: folder }
  jest.spyOn(globalThis, 'fetch')
})
afterEach(() => {
  jest.restoreAllMocks()
  for (const server of servers.splice(0)) server.close()
  rmSync(folder, { recursive: true })
})

/** A gateway's address, which answers that its DynamoDB is there. */
async function answering(dynamodb: string): Promise<string> {
  const server = createServer((_, response) => response.end(JSON.stringify({ dynamodb })))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

test('a gateway on any port is found while it runs, and its file goes with it', async () => {
  const gateway = { address: await answering(DYNAMODB), dynamodb: DYNAMODB }
  expect(await onlyGateway(env)).toBeUndefined()
  expect(fetch).not.toHaveBeenCalled() // no port is tried
  const remove = announceGateway(gateway, env)!
  expect(await onlyGateway(env)).toEqual(gateway)
  remove()
  expect([readdirSync(folder), await onlyGateway(env)]).toEqual([[], undefined])
})

test.each([{ log: ['access.log'] }, { logGroup: '/aws/lambda/a' }, { endpoint: DYNAMODB }])(
  'no gateway is asked that the command was not told of: %j',
  async (where) => {
    announceGateway({ address: await answering(DYNAMODB), dynamodb: DYNAMODB }, env)
    expect(await meantGateway(where, env)).toBeUndefined()
    expect(fetch).not.toHaveBeenCalled()
  },
)

test('the gateway of a DynamoDB is found by its file, by any name of this machine, and no other is asked', async () => {
  const [first, second] = [await answering(DYNAMODB), await answering('http://127.0.0.1:13002')]
  announceGateway({ address: first, dynamodb: DYNAMODB }, env)
  announceGateway({ address: second, dynamodb: 'http://127.0.0.1:13002' }, env)
  expect(await gatewayOfEngine('http://localhost:13002', env)).toEqual({
    address: second,
    dynamodb: 'http://127.0.0.1:13002',
  })
  expect(fetch).toHaveBeenCalledTimes(1)
  expect(await gatewayOfEngine('http://localhost:13003', env)).toBeUndefined()
  announceGateway({ address: await answering(DYNAMODB), dynamodb: DYNAMODB }, env)
  await expect(gatewayOfEngine(DYNAMODB, env)).rejects.toThrow(`choose one: --gateway http://localhost:`)
})

test('of two gateways none is taken: the error says how to choose', async () => {
  const addresses = [await answering(DYNAMODB), await answering('http://127.0.0.1:13002')]
  announceGateway({ address: addresses[0]!, dynamodb: DYNAMODB }, env)
  announceGateway({ address: addresses[1]!, dynamodb: 'http://127.0.0.1:13002' }, env)
  await expect(onlyGateway(env)).rejects.toThrow('several local gateways run, choose one: http://localhost:')
  await expect(onlyGateway(env)).rejects.toThrow('--endpoint http://127.0.0.1:13002')
})

test('a file is stale whose process is gone, or whose port answers as another or not at all', async () => {
  announceGateway({ address: await answering('http://127.0.0.1:13009'), dynamodb: DYNAMODB }, env)
  announceGateway({ address: 'http://localhost:9', dynamodb: DYNAMODB }, env)
  expect(await onlyGateway(env)).toBeUndefined()
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  const gone = `gateway-${pid}-3001.json`
  writeFileSync(
    join(folder, 'sluice', gone),
    JSON.stringify({ address: await answering(DYNAMODB), dynamodb: DYNAMODB }),
  )
  expect(await onlyGateway(env)).toBeUndefined()
  expect(readdirSync(join(folder, 'sluice'))).not.toContain(gone)
})

test('a folder or file to which others may write is not trusted, nor an address of another machine', () => {
  const gateway = { address: 'http://localhost:3005', dynamodb: DYNAMODB }
  announceGateway(gateway, env)
  const [file] = readdirSync(join(folder, 'sluice'))
  expect(announcedGateways(env)).toEqual([gateway])
  for (const path of [join(folder, 'sluice', file!), join(folder, 'sluice')]) {
    chmodSync(path, 0o777)
    expect(announcedGateways(env)).toEqual([])
    chmodSync(path, 0o700)
  }
  writeFileSync(join(folder, 'sluice', file!), JSON.stringify({ ...gateway, dynamodb: 'http://192.0.2.1:8000' }))
  expect(announcedGateways(env)).toEqual([])
  rmSync(join(folder, 'sluice'), { recursive: true })
  mkdirSync(join(folder, 'sluice'), { mode: 0o777 })
  chmodSync(join(folder, 'sluice'), 0o777)
  expect(announceGateway(gateway, env)).toBeUndefined()
  expect(readdirSync(join(folder, 'sluice'))).toEqual([])
})
