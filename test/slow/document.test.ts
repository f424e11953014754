import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Outputs } from '../engines/document-app'
import { type MiniStack, startMiniStack } from '../engines/ministack'

const ROOT = join(__dirname, '..', '..')

describe('an API that an OpenAPI document describes, deployed protected', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-document-'))
  let aws: MiniStack
  let url: string
  beforeAll(async () => {
    aws = await startMiniStack()
    const app = `${process.execPath} --import tsx ${join(ROOT, 'test', 'engines', 'document-app.ts')}`
    const outputs = join(folder, 'outputs.json')
    const options = ['--app', app, '--output', join(folder, 'cdk.out'), '--outputs-file', outputs]
    await aws.cdk(ROOT, 'deploy', '--require-approval', 'never', ...options)
    const { Documented }: Outputs = JSON.parse(readFileSync(outputs, 'utf8'))
    url = Documented.Url
  }, 300_000)
  afterAll(async () => {
    await aws?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('limits its operations, and leaves OPTIONS open', async () => {
    const ask = async (method: string) => (await aws.send(`${url}orders`, { method })).status
    expect([await ask('GET'), await ask('GET')]).toEqual([200, 200])
    expect([403, 429]).toContain(await ask('GET')) // MiniStack reads no gateway responses from a document, AWS does
    expect(await ask('OPTIONS')).toBe(200)
  }, 60_000)
})
