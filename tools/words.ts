import ts from 'typescript'
import { parse } from 'yaml'

/** Words that are not used, what is said instead, and the folders where that holds; everywhere without. */
interface Rule {
  readonly not: readonly string[]
  readonly say: string
  readonly in?: readonly string[]
  /** Files that may say it, such as what reads an old form. */
  readonly except?: readonly string[]
}

export interface Words {
  readonly identifiers: readonly Rule[]
  readonly sentences: readonly Rule[]
}

export interface Finding {
  readonly path: string
  readonly line: number
  readonly word: string
  readonly say: string
}

export const parseWords = (yaml: string): Words => parse(yaml) as Words

/** The words in a file that are not used any more, with the lines that they stand on. */
export function findWords(words: Words, path: string, text: string): Finding[] {
  const found = [...sentencesIn(text, rulesFor(words.sentences, path))]
  if (/\.(tsx?|js|mjs)$/.test(path)) found.push(...identifiersIn(path, text, rulesFor(words.identifiers, path)))
  const lineOf = (position: number) => text.slice(0, position).split('\n').length
  return found
    .sort((a, b) => a.position - b.position)
    .map(({ position, word, say }) => ({ path, line: lineOf(position), word, say }))
}

interface Place {
  readonly position: number
  readonly word: string
  readonly say: string
}

const rulesFor = (rules: readonly Rule[], path: string): readonly Rule[] =>
  rules.filter(
    (rule) => !rule.except?.includes(path) && (rule.in?.some((folder) => path.startsWith(`${folder}/`)) ?? true),
  )

/** Names as the compiler reads them, so that a word of a comment or a text is none. */
function identifiersIn(path: string, text: string, rules: readonly Rule[]): Place[] {
  const sayings = new Map(rules.flatMap(({ not, say }) => not.map((word) => [word, say] as const)))
  const found: Place[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const word = node.text.replace(/^#/, '')
      const say = sayings.get(word)
      if (say !== undefined) found.push({ position: node.getStart(), word, say })
    }
    node.forEachChild(visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true))
  return found
}

/** What stands between two words of a sentence: spaces, or the end of a line and what begins a comment's next one. */
const BETWEEN = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:\*|//|#|>)?[ \t]*)`

function sentencesIn(text: string, rules: readonly Rule[]): Place[] {
  return rules.flatMap(({ not, say }) =>
    not.flatMap((sentence) => {
      const words = sentence
        .split(' ')
        .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "['’]"))
      const pattern = new RegExp(String.raw`(?<![\w-])${words.join(BETWEEN)}(?![\w-])`, 'gi')
      return [...text.matchAll(pattern)].map(({ index }) => ({ position: index, word: sentence, say }))
    }),
  )
}
