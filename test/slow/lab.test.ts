import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../../lib/format-markdown'
import { measuredText, withMeasured } from '../../tools/lab/document'

describe('docs/choosing-an-algorithm.md', () => {
  it('has what "npm run lab -- --write" measures', () => {
    const document = readFileSync(join(__dirname, '..', '..', 'docs', 'choosing-an-algorithm.md'), 'utf8')
    expect(formatMarkdown(withMeasured(document, measuredText()))).toBe(document)
  })
})
