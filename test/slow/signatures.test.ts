import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { randomRequests, signedHeaders } from '../aws/signed-requests'

const python = (args: readonly string[], input = '') =>
  spawnSync('python3', args, { input, encoding: 'utf8', maxBuffer: 1e9 })

const isThere = python(['-c', 'import botocore.auth']).status === 0
const test = isThere ? it : it.skip

test(`each of thousands of random requests is signed as by botocore${isThere ? '' : ' (skipped: pip install botocore)'}`, async () => {
  const requests = await randomRequests(5000)
  const input = requests.map(({ received, ...signedWith }) => {
    const { method, path, body } = received
    return { method, path, body, headers: signedHeaders(received), ...signedWith }
  })
  const { stdout, stderr } = python([join(__dirname, 'signatures.py')], JSON.stringify(input))
  if (stderr !== '') throw new Error(stderr)
  const signatures: readonly string[] = JSON.parse(stdout)
  expect(signatures).toHaveLength(5000)
  const differing = requests.filter(({ received }, i) => received.headers.authorization !== signatures[i])
  expect(differing).toEqual([])
})
