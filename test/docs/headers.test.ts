import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toAnswer } from '../../lambda/responses/answers'
import { toContext } from '../../lambda/responses/context'
import { DECISION_HEADERS, PROBLEM_KEYS } from '../../lambda/responses/header-table'
import { fromEvent } from '../../lambda/responses/request'
import { DENIED, NOW } from '../responses/decisions'
import httpRequest from '../responses/events/http-request.json'
import restRequest from '../responses/events/rest-request.json'
import { examplesIn, pageOf } from './examples'

const ROOT = join(__dirname, '..', '..')
const PAGE = pageOf('headers.md')

/** The first cells of each row of the table whose first column has this heading. */
function rowsUnder(heading: string, cells: number): string[][] {
  const [, , ...rows] = PAGE.slice(PAGE.search(new RegExp(`^\\| ${heading} +\\|`, 'm')))
    .split('\n\n')[0]!
    .split('\n')
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, 1 + cells)
      .map((cell) => cell.trim()),
  )
}

/** What a gateway makes of the authorizer's answer to a request that is denied for this reason. */
function answered(event: object, reason: string, denials: 'gateway' | 'backend', otherwise: string): string {
  const decision = reason === 'over-limit' || reason === 'degraded' ? DENIED : undefined
  const context = toContext({ decision, reason: reason as never, now: NOW })
  try {
    const answer = toAnswer(fromEvent(event), { allowed: context.allowed, context, principalId: 'me', denials })
    return 'isAuthorized' in answer && answer.isAuthorized ? '429 with headers' : otherwise
  } catch (error) {
    return (error as Error).message === 'Unauthorized' ? '401' : '500'
  }
}

describe('docs/headers.md', () => {
  it('has every header, where its value comes from, and which answers have it', () => {
    expect(rowsUnder('header', 4)).toEqual(
      DECISION_HEADERS.map(({ name, key, denied, allowed }) => [
        `\`${name}\``,
        `\`${key}\``,
        denied ? 'yes' : 'no',
        typeof allowed === 'string'
          ? { always: 'yes', never: 'no', 'above-0': 'above 0' }[allowed]
          : allowed.map((flag) => `\`${flag}\``).join(', '),
      ]),
    )
  })

  it('says of every reason of a denial what each kind of API answers', () => {
    const reasons = ['over-limit', 'degraded', 'unavailable', 'blocked', 'malformed', 'unauthorized', 'unverified']
    expect(rowsUnder('`reason`', 4)).toEqual(
      reasons.map((reason) => [
        `\`${reason}\``,
        answered(restRequest, reason, 'gateway', '429 with headers'),
        answered(httpRequest, reason, 'gateway', '403'),
        answered(httpRequest, reason, 'backend', '403'),
      ]),
    )
  })

  it('has the headers that browsers are allowed to read, and the body’s keys', () => {
    expect(examplesIn(PAGE, 'text').map((text) => text.trim().split(/[:,]\s+/))).toEqual([
      ['Access-Control-Expose-Headers', ...DECISION_HEADERS.map(({ name }) => name)],
    ])
    const [body] = /^A problem document[\s\S]*?\n\n/m.exec(PAGE)!
    expect([...body.matchAll(/`(\w+)`/g)].map(([, key]) => key)).toEqual(['type', 'title', 'status', ...PROBLEM_KEYS])
  })
})

it('no document or example names a header that Sluice does not send', () => {
  const files = execFileSync('git', ['ls-files', 'README.md', 'docs/**/*.md', 'examples'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const known: readonly string[] = DECISION_HEADERS.map(({ name }) => name)
  const unknown = files
    .trim()
    .split('\n')
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\b(X-)?RateLimit-\w+/g)].flatMap(([name]) =>
        known.includes(name) ? [] : [`${file}: ${name}`],
      ),
    )
  expect(unknown).toEqual([])
})
