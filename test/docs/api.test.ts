import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageOf } from './examples'

const FOLDER = join(__dirname, '..', '..', 'docs', 'api')
const pagesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))

const PAGES = pagesIn(FOLDER)
/** What a page says under the heading of something exported. */
const section = (page: string, name: string) =>
  new RegExp(`^## (?:\`abstract\` )?${name}(?:\\(\\)|\\\\<.*)?\\n([\\s\\S]*?)(?=^## )`, 'm').exec(
    `${PAGES[`${page}.md`]}\n## `,
  )![1]!

describe('docs/api', () => {
  it('has a page for each entry point of the package, which docs/api.md leads to', () => {
    const { exports } = JSON.parse(readFileSync(join(FOLDER, '..', '..', 'package.json'), 'utf8'))
    const names = Object.keys(exports).filter((name) => name !== './package.json')
    const pages = names.map((name) => `${join('sluice', name).replaceAll('/', '.')}.md`)
    expect(Object.keys(PAGES)).toEqual(pages.sort())
    for (const page of pages) expect(pageOf('api.md')).toContain(`(api/${page})`)
  })

  it.each([
    ['sluice', ['RateLimiter', 'RateLimiterProps', 'ConfigError']],
    ['sluice.limiter', ['createLimiter', 'Limiter', 'DynamoDbStore', 'PolicyInput']],
    ['sluice.backend', ['withRateLimit', 'rateLimit', 'headersFromContext']],
    [
      'sluice.middleware',
      ['expressRateLimit', 'fastifyRateLimit', 'honoRateLimit', 'koaRateLimit', 'RateLimitOptions'],
    ],
    ['sluice.express-rate-limit', ['ExpressRateLimitStore', 'ExpressRateLimitStoreOptions', 'HitCount']],
    ['sluice.tiered', ['createTieredLimiter', 'TieredLimiterOptions', 'TieredRequest', 'TieredDecision']],
    ['sluice.store-contract', ['storeContract']],
  ])('%s has what is exported', (page, names) => {
    for (const name of names) expect(section(page, name)).not.toBe('')
  })

  it('has overloads and not their implementation, defaults, and nothing that is private', () => {
    const limiter = section('sluice', 'RateLimiter')
    expect(limiter).toContain(
      'protect(api: WebSocketApi, options?: ProtectWebSocketApiOptions): WebSocketApiProtection',
    )
    expect(limiter).not.toMatch(/RestApi \| HttpApi|backendsAnswer|degraded\?/)
    expect(section('sluice', 'AuthorizerFunctionOptions')).toMatch(
      /^\| `memorySize\?` \| `number` \| Memory in MiB.*\*\*Default\*\* `1769/m,
    )
  })

  it('has the fields of an interface that is not exported where they are inherited, and the words of a derived type', () => {
    expect(section('sluice.limiter', 'LimiterOptions')).toMatch(/^\| `store` +\| \[`StateStore`\]/m)
    expect(section('sluice.limiter', 'AlgorithmName')).toMatch(/"token-bucket"\n.*\n *\| "gcra"/)
  })

  it('has a constructor only where one can be called', () => {
    expect(section('sluice.limiter', 'MemoryStore')).toContain('new MemoryStore(')
    expect(section('sluice', 'RestApiProtection')).not.toContain('new RestApiProtection(')
  })

  it('says nothing of the machine that wrote it', () => {
    expect(Object.values(PAGES).join('')).not.toMatch(/\/(?:home|root|work|tmp|Users)\/|github\.com\/sluice/)
  })
})
