import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findWords, parseWords } from '../../tools/words'

const WORDS = parseWords(readFileSync(join(__dirname, '..', '..', 'tools', 'words.yaml'), 'utf8'))

const WORDS_HERE = parseWords(`
identifiers:
  - { not: [look], say: peek, in: [limiter] }
  - { not: [wasQuicker], say: recordConflict, except: [cli/old.ts] }
sentences:
  - { not: ["everybody's policies are nobody's own"], say: no overrides }
`)

describe('tools/words.yaml', () => {
  it('says what to say instead of each word, once', () => {
    for (const rules of [WORDS.identifiers, WORDS.sentences]) {
      const all = rules.flatMap(({ not }) => not)
      expect(new Set(all).size).toBe(all.length)
      for (const { not, say } of rules) expect([not.length > 0, say !== '']).toEqual([true, true])
    }
  })
})

describe('npm run words', () => {
  it('finds names as whole names, in code and not in what is said', () => {
    const code = "// wasQuicker\nthis.#wasQuicker(wasQuickerThan, 'wasQuicker')\nconst a = { wasQuicker }\n"
    expect(findWords(WORDS_HERE, 'cli/a.ts', code)).toEqual([
      { path: 'cli/a.ts', line: 2, word: 'wasQuicker', say: 'recordConflict' },
      { path: 'cli/a.ts', line: 3, word: 'wasQuicker', say: 'recordConflict' },
    ])
    expect(findWords(WORDS_HERE, 'docs/a.md', code)).toEqual([])
  })

  it('finds a name in the folders where it means that, and in no other', () => {
    expect(findWords(WORDS_HERE, 'limiter/a.ts', 'look()')).toHaveLength(1)
    expect(findWords(WORDS_HERE, 'limiters/a.ts', 'look()')).toEqual([])
    expect(findWords(WORDS_HERE, 'cli/old.ts', 'wasQuicker()')).toEqual([])
  })

  it.each([
    ['docs/a.md', 'a\nEverybody’s policies\nare nobody’s own.', 2],
    ['lib/a.ts', "/**\n * Here everybody's\n * policies are nobody's own.\n */", 2],
    ['lib/a.ts', "// everybody's policies are\n  // nobody's own", 1],
  ])('finds a sentence in %s, however its lines are broken: %j', (path, text, line) => {
    expect(findWords(WORDS_HERE, path, text).map((found) => found.line)).toEqual([line])
  })

  it('finds no sentence in another', () => {
    expect(findWords(WORDS_HERE, 'a.md', "everybody's policies are nobody's ownership")).toEqual([])
  })
})
