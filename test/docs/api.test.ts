import { apiReference } from '../../reference/api-reference'
import { formatMarkdown } from '../../tools/format-markdown'
import { pageOf } from './examples'

const PAGE = pageOf('api.md')
/** The text under a heading, up to the next one. */
const section = (name: string) => new RegExp(`^### ${name}\\n([\\s\\S]*?)(?=^##)`, 'm').exec(`${PAGE}\n##`)![1]!

describe('docs/api.md', () => {
  it('is what the docstrings say now', () => {
    expect(PAGE).toBe(formatMarkdown(apiReference())) // npm run docs:api
  })

  it('has what each entry point exports', () => {
    const parts = PAGE.split(/^## /m).map((part) => [
      part.split('\n')[0],
      [...part.matchAll(/^### (\w+)/gm)].map(([, name]) => name),
    ])
    expect(Object.fromEntries(parts)).toMatchObject({
      sluice: expect.arrayContaining(['RateLimiter', 'RateLimiterProps', 'ConfigError']),
      'sluice/limiter': expect.arrayContaining([
        'createLimiter',
        'Limiter',
        'DynamoDbStore',
        'PolicyInput',
        'ConfigError',
      ]),
      'sluice/backend': expect.arrayContaining(['withRateLimit', 'rateLimit', 'headersFromContext']),
    })
  })

  it('has overloads and not their implementation, defaults, and nothing that is private', () => {
    expect(section('RateLimiter')).toContain(
      '`protect(api: WebSocketApi, options?: ProtectWebSocketApiOptions): WebSocketApiProtection`',
    )
    expect(section('RateLimiter')).not.toMatch(/RestApi \| HttpApi|backendsAnswer|degraded\?/)
    expect(section('AuthorizerFunctionOptions')).toMatch(
      /`readonly memorySize\?: number`\n\n {2}Memory in MiB[^*]*\n\n {2}\*\*Default:\*\* 1769/,
    )
  })

  it('has the fields of an interface that is not exported where they are inherited, and the words of a derived type', () => {
    expect(section('LimiterOptions')).toContain('`readonly store: StateStore`')
    expect(section('AlgorithmName')).toMatch(/"gcra".*"token-bucket"|"token-bucket".*"gcra"/)
  })

  it('has a constructor only where one can be called', () => {
    expect(section('MemoryStore')).toContain('constructor(')
    expect(section('RestApiProtection')).not.toContain('constructor(')
  })
})
