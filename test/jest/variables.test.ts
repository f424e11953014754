import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const HOSTILE = {
  ...{
    HOME: '/root',
    TZ: 'Asia/Tokyo',
    LANG: 'tr_TR.UTF-8',
    LC_ALL: 'tr_TR.UTF-8',
    NODE_ENV: 'production',
    CI: 'true',
  },
  ...{
    AWS_PROFILE: 'nosuch',
    SLUICE_DEADLINE_MS: '1',
    PORT: '3000',
    NO_COLOR: '1',
    GIT_DIR: '/',
    HTTP_PROXY: 'http://a',
  },
}
const KEPT = { SEED: '7', THOROUGH: '1', PATH: process.env.PATH }

/** The variables that a process has in such a place, once they are isolated. */
function isolated(needsHome: boolean): Record<string, string> {
  const variables = JSON.stringify(join(__dirname, 'variables.js'))
  const script = `require(${variables}).isolateVariables(${needsHome}); console.log(JSON.stringify(process.env))`
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { env: { ...HOSTILE, ...KEPT }, encoding: 'utf8' }))
}

it('a suite has the same variables wherever it runs, but those that choose what is tested', () => {
  const { HOME, TZ, LANG, NODE_ENV, ...others } = isolated(false)
  expect({ HOME, TZ, LANG, NODE_ENV }).toEqual({
    ...{ HOME: '/dev/null', TZ: 'Pacific/Chatham', LANG: 'C.UTF-8', NODE_ENV: 'test' },
  })
  expect(others).toMatchObject(KEPT)
  for (const name of Object.keys(HOSTILE)) expect([name, others[name]]).toEqual([name, undefined])
})

it('a slow suite has the home as well, where packages are, and what reaches their registry', () => {
  const { HTTP_PROXY, ...others } = HOSTILE
  expect(isolated(true)).toEqual({ ...isolated(false), HOME: others.HOME, HTTP_PROXY })
})

it('this suite has such variables, in local time that is not UTC, and so have processes that it starts', () => {
  const { AWS_CONFIG_FILE, HOME, PORT, TZ } = process.env
  expect([AWS_CONFIG_FILE, HOME, PORT, TZ]).toEqual(['/dev/null', '/dev/null', undefined, 'Pacific/Chatham'])
  expect(new Date(0).getHours()).toBe(12)
  const script = 'console.log(JSON.stringify(process.env))'
  const child = JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }))
  for (const name of Object.keys(child)) expect([name, process.env[name]]).toEqual([name, child[name]])
})
