import { gzipSync } from 'node:zlib'
import { buildPages, PAGES } from '../../pages/build'

const MAX_COMPRESSED_KB = 90

describe('the pages', () => {
  const files = buildPages()

  it.each(Object.keys(PAGES))('%s needs at most 90 KB of JavaScript, compressed', async (name) => {
    const scripts = [...(await files)].filter(([file]) => file.startsWith(name) && file.endsWith('.js'))
    const bytes = scripts.reduce((sum, [, text]) => sum + gzipSync(text).length, 0)
    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThanOrEqual(MAX_COMPRESSED_KB * 1000)
  })

  it.each(Object.keys(PAGES))('%s fetches nothing from elsewhere', async (name) => {
    const html = (await files).get(`${name}.html`)!
    const named = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url)
    expect(named).toEqual(['data:,', `${name}.css`, `${name}.js`])
    for (const [file, text] of await files)
      if (file.endsWith('.css')) expect(text).not.toMatch(/@import|url\((?!["']?data:)/)
  })
})
