import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { restEvent } from '../authorize/gateway'
import { ENGINES } from '../stores'
import { newAuthorizer } from './authorizer'
import { type Deployment, deploy } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const now = { now: NOW }
const LIMIT = 3
const file = (limit: number, settings = '') =>
  `${settings}tiers:\n  anonymous:\n    by: ip\n    policies: [{ name: per-hour, limit: ${limit}, window: 1h }]\n`

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-switch-'))
const tiers = path.join(folder, 'tiers.yaml')
afterAll(() => rmSync(folder, { recursive: true }))

describe.each(ENGINES)('sluice off, on and observe, on %s', (engine) => {
  let at: Deployment
  beforeAll(async () => {
    at = await deploy(engine)
    writeFileSync(tiers, file(LIMIT))
    await at.sluice(['tiers', 'apply', tiers, '--yes'], now)
  })
  afterEach(() => at.sluice(['on']))
  afterAll(async () => at?.close())

  /** Effects of so many requests of an address, asked of a new instance. */
  async function asked(times: number, ip: string): Promise<string> {
    const authorize = newAuthorizer(at, NOW)
    const effects: string[] = []
    for (let i = 0; i < times; i++) {
      const answer = (await authorize(restEvent({ ip }))) as unknown as {
        policyDocument: { Statement: [{ Effect: string }] }
      }
      effects.push(answer.policyDocument.Statement[0].Effect[0]!)
    }
    return effects.join('')
  }

  it('off allows requests without counting; on continues the counters from before', async () => {
    expect(await asked(2, '198.51.100.1')).toBe('AA')
    expect(await at.sluice(['off', '--note', 'incident 4711', '--yes'], now)).toEqual({
      code: 0,
      out: 'limits are off: requests are allowed without counting; blocks and credentials still apply; authorizers apply it within 30 seconds; turn limits on with sluice on\n',
      err: `written: table sluice-config at ${at.endpoint}\n`,
    })
    expect(await asked(9, '198.51.100.1')).toBe('AAAAAAAAA')
    expect((await at.sluice(['on'])).out).toBe('limits are on again; authorizers apply it within 30 seconds\n')
    expect(await asked(3, '198.51.100.1')).toBe('ADD')
  })

  it('a second time, or after another switch, says what was before; a note is of one switch', async () => {
    await at.sluice(['off', '--note', 'incident 4711', '--yes'], now)
    const again = await at.sluice(['off', '--yes'], { now: NOW + 60_000 })
    expect(again.out).toContain('; so it was already since 2026-11-21T12:00:00Z; ')
    const other = await at.json(['observe', 'on', '--yes'], { now: NOW + 60_000 })
    expect(other).toEqual({ mode: 'observe', since: '2026-11-21T12:01:00Z', note: null })
    expect((await at.sluice(['off', '--yes'], now)).out).toContain('; before, limits only observe; ')
  })

  it('observe on counts requests over a limit and allows them', async () => {
    await at.sluice(['observe', 'on', '--yes'], now)
    expect(await asked(9, '198.51.100.2')).toBe('AAAAAAAAA')
    await at.sluice(['observe', 'off'])
    expect(await asked(1, '198.51.100.2')).toBe('D')
  })

  it('peek says of a caller over its limit that it is, and passes because limits only observe', async () => {
    const who = 'ip:198.51.100.7'
    await at.sluice(['observe', 'on', '--yes'], now)
    expect((await at.sluice(['peek', who], now)).out).toMatch(
      /would be allowed\npolicy per-hour: 2 of 3 left after it\n$/,
    )
    await asked(LIMIT + 1, '198.51.100.7')
    expect((await at.sluice(['peek', who], now)).out).toBe(
      `${who} (tier anonymous): a request of cost 1 would be allowed, although it is over the limit of per-hour: limits only observe\npolicy per-hour: 0 of 3 left after it\n`,
    )
    expect(await at.json(['peek', who], now)).toMatchObject({ mode: 'observe', allowed: true, observed: true })
    await at.sluice(['observe', 'off'])
    expect((await at.sluice(['peek', who], now)).out).toMatch(/would be denied\npolicy per-hour: 0 of 3 left, it would/)
  })

  it('off keeps blocks in force', async () => {
    await at.sluice(['block', 'add', '198.51.100.3'])
    await at.sluice(['off', '--yes'], now)
    expect(await asked(2, '198.51.100.3')).toBe('DD')
  })

  it('usage, peek, doctor and tiers list show that limits are off', async () => {
    await at.sluice(['off', '--note', 'incident 4711', '--yes'], now)
    const line =
      'limits are off since 2026-11-21T12:00:00Z (incident 4711): requests are allowed without counting; blocks and credentials still apply; turn limits on with sluice on'
    for (const args of [
      ['tiers', 'list'],
      ['usage', 'ip:198.51.100.4'],
      ['peek', 'ip:198.51.100.4'],
    ])
      expect([args, (await at.sluice(args, now)).err]).toEqual([args, `${line}\n`])
    expect((await at.sluice(['peek', 'ip:198.51.100.4', '--cost', '99'], now)).out).toMatch(
      /would be allowed without counting, because limits are off/,
    )
    expect(await at.json(['peek', 'ip:198.51.100.4', '--cost', '99'], now)).toMatchObject({
      mode: 'off',
      allowed: true,
    })
    expect(await at.json(['usage', 'ip:198.51.100.4'], now)).toMatchObject({ mode: 'off' })
    const { checks } = JSON.parse((await at.sluice(['doctor', '--json'], { now: Date.now() })).out)
    expect(checks).toContainEqual({ name: 'limits', status: 'warning', found: line, remedy: 'sluice on' })
  })

  it('tiers apply and export leave the switch alone', async () => {
    await at.sluice(['off', '--yes'], now)
    expect((await at.sluice(['tiers', 'export'])).out).not.toContain('off')
    writeFileSync(tiers, file(LIMIT))
    await at.sluice(['tiers', 'apply', tiers, '--yes', '--prune'], now)
    expect(await asked(9, '198.51.100.5')).toBe('AAAAAAAAA')
  })

  it('a repeated off changes only the note', async () => {
    await at.sluice(['off', '--note', 'first', '--yes'], now)
    expect(await at.json(['off', '--yes'], { now: NOW + 60_000 })).toEqual({
      mode: 'off',
      since: '2026-11-21T12:00:00Z',
      note: 'first',
    })
    expect(await at.json(['observe', 'on', '--note', 'second', '--yes'], { now: NOW + 60_000 })).toEqual({
      mode: 'observe',
      since: '2026-11-21T12:01:00Z',
      note: 'second',
    })
  })

  it('on reports the mode of the settings, and if limits were already on', async () => {
    expect((await at.sluice(['on'])).out).toBe('limits were already on\n')
    writeFileSync(tiers, file(LIMIT, 'settings:\n  mode: observe\n'))
    await at.sluice(['tiers', 'apply', tiers, '--yes'], now)
    await at.sluice(['off', '--yes'], now)
    expect((await at.sluice(['on'])).out).toBe(
      'limits are on again; authorizers apply it within 30 seconds, but the settings say mode: observe\n',
    )
    writeFileSync(tiers, file(LIMIT))
    await at.sluice(['tiers', 'apply', tiers, '--yes', '--prune'], now)
  })

  it('observe off does not end sluice off', async () => {
    await at.sluice(['off', '--yes'], now)
    expect(await at.sluice(['observe', 'off'])).toEqual({
      code: 1,
      out: '',
      err: 'limits are off, not observing: turn them on with sluice on\n',
    })
    expect(await at.sluice(['observe', 'maybe'])).toEqual({
      code: 1,
      out: '',
      err: 'observe must be on or off, got "maybe"\n',
    })
    expect(await asked(9, '198.51.100.6')).toBe('AAAAAAAAA')
  })
})
