import { PassThrough } from 'node:stream'
import { Session } from '../../../cli/command'
import { Interrupts, type Io } from '../../../cli/terminal/io'
import { Names } from '../../../cli/top/names'
import { runTop, type TopOptions } from '../../../cli/top/run'
import type { Source } from '../../../cli/top/source'

const NOW = Date.parse('2026-11-23T12:00:00Z')

const OPTIONS: TopOptions = {
  by: ['client'],
  sort: 'denials',
  limit: 5,
  sinceMs: 60_000,
  intervalMs: 1000,
  once: false,
  json: false,
}

/** A run of the loop, with a source that answers so, one after another, and then ends it by a key or Ctrl-C. */
async function live(
  answers: readonly (number | Error)[],
  end: 'q' | 'Ctrl-C',
  more: Partial<TopOptions> = {},
  tty = true,
  name = 'client:',
) {
  const written: string[] = []
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: tty, setRawMode: (mode: boolean) => void modes.push(mode) })
  const interrupts = new Interrupts()
  const write = (text: string) => void written.push(text)
  const stdout = { isTTY: tty, columns: 60, rows: 20, write }
  const io: Io = { stdin, stdout, stderr: { write }, env: { NO_COLOR: '1' }, clock: () => NOW, interrupts }
  let next = 0
  const source: Source = {
    kind: 'gateway',
    name: 'here',
    async read() {
      const answer = answers[next++]!
      if (typeof answer !== 'number') throw answer
      const denial = { at: NOW, tier: '', policy: '', reason: '', route: '', api: '', before: 0 }
      const denials = Array.from({ length: answer }, (_, i) => ({
        ...denial,
        subject: '',
        caller: `${name}${i || ''}`,
      }))
      return { denials, others: [], completeFrom: 0 }
    },
  }
  const session = new Session(io, '1')
  const names = new Names(
    async () => Promise.reject(new Error('no table')),
    56,
    io.clock,
    (error) => session.print.note(`clients are not named: ${(error as Error).message}`),
  )
  const wait = async () => {
    if (next < answers.length) return
    if (end === 'q') stdin.emit('data', 'q')
    else interrupts.press()
  }
  await runTop(session, source, names, { ...OPTIONS, ...more }, wait)
  return { out: written.join(''), modes, paused: stdin.isPaused() }
}

describe('while it runs', () => {
  it.each(['q', 'Ctrl-C'] as const)('%s ends it, and the terminal is as it was, with the last table', async (end) => {
    const { out, modes, paused } = await live([2, 1, 0], end)
    expect([modes, paused]).toEqual([[true, false], true])
    expect(out.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true)
    expect(out.split('\u001b[H')).toHaveLength(4)
    const [, left] = out.split('\u001b[?25h\u001b[?1049l')
    expect(left).toMatch(/^2026-11-23T12:00:00Z {2}here, the last 1 min\n3 denied, 0\.05 a second\n/)
    expect(left).not.toContain('\u001b')
  })

  it('no line is wider than the terminal, and no more of them than it has', async () => {
    const { out } = await live([40], 'q', { limit: 100 })
    const [screen] = out.split('\u001b[?25h')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what is looked for
    const lines = screen!.replaceAll(/\u001b\[\??\d*[a-zA-Z]/g, '').split('\r\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(60)
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(screen).toContain('… and 30 more: --limit')
  })

  it('without a terminal it prints one table after another, without control sequences', async () => {
    const { out, modes } = await live([1, 1], 'Ctrl-C', {}, false)
    expect(out).not.toContain('\u001b')
    expect([modes, out.split(' denied, ').length]).toEqual([[], 3])
  })

  it('--json prints a line of JSON each time, on a terminal, too', async () => {
    const { out } = await live([1, 2], 'Ctrl-C', { json: true })
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).denials),
    ).toEqual([1, 3])
  })

  it('a source that fails for a while is waited for, and loses nothing', async () => {
    const { out } = await live([1, new Error('no answer'), 1], 'q')
    const [, first, meanwhile, then] = out.split('\u001b[H')
    expect([first, then].map((text) => text!.includes('≥'))).toEqual([false, false])
    expect(meanwhile).toContain('no answer; trying again')
    expect(meanwhile).toContain('≥ 1 denied') // somebody may have been denied since
    expect(out.split('\u001b[?1049l')[1]).toContain('2 denied')
    expect(out.split('\u001b[?1049l')[1]).not.toContain('trying again')
  })

  it('what has to be said is seen, and is still there when the screen is left', async () => {
    const { out } = await live([1, 1], 'q', {}, true, `client#${'a'.repeat(43)}`)
    const [screen, left] = out.split('\u001b[?25h\u001b[?1049l')
    expect(screen!.split('clients are not named: no table')).toHaveLength(3)
    expect(left).toContain('clients are not named: no table\n')
  })

  it('names in a line of the log cannot write to the terminal', async () => {
    const { out } = await live([1], 'q', {}, true, '\u001b]0;title\u0007\u001b[2J\u009b2J\rx')
    for (const text of ['\u001b]', '\u001b[2J', '\u0007', '\u009b', '\rx']) expect(out).not.toContain(text)
    const json = await live([1], 'Ctrl-C', { json: true }, false, '\u001b[2J')
    expect(json.out).not.toContain('\u001b')
    expect(JSON.parse(json.out).rows[0].client).toBe('\u001b[2J')
  })

  it('a source that fails at once is an error, and no screen was entered', async () => {
    await expect(live([new Error('no answer')], 'q')).rejects.toThrow('no answer')
  })
})
