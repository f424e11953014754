import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../../lib/format-markdown'
import { type Attack, TOPICS } from './attack'
import { ATTACKS, LEFT } from './attacks'
import { ELSEWHERE, type Elsewhere } from './elsewhere'
import { sentAs } from './events-of'

const FILE = join(__dirname, '..', '..', 'docs', 'attacks.md')
const [BEGIN, END] = ['<!-- npm run docs:security -->', '<!-- the end of what it writes -->']

/** What docs/attacks.md says of the attacks. */
export function section(): string {
  const topics = TOPICS.map((topic) => {
    const rows = ATTACKS.filter(({ about }) => about === topic).map(rowOf)
    return [
      `### ${topic}`,
      '',
      '| what was tried | request | passed before | pass now | why |',
      '|---|---|---|---|---|',
      ...rows,
      '',
    ].join('\n')
  })
  const elsewhere = [
    '### What is deployed',
    '',
    '| what was tried | before | now | test |',
    '|---|---|---|---|',
    ...ELSEWHERE.map(elsewhereRowOf),
    '',
  ].join('\n')
  const left = LEFT.map(([what, to]) => `| ${what} | ${to} |`)
  const text = [...topics, elsewhere, '### What is left to others', '', '| what | to whom |', '|---|---|', ...left]
  return formatMarkdown([BEGIN, '', ...text, '', END].join('\n')).trim()
}

function rowOf(attack: Attack): string {
  const { tried, times = 30, before, passes, now, api = 'rest', counts } = attack
  const { method = 'GET', path } = sentAs(attack, 1)
  const shown = path.length > 60 ? `${path.slice(0, 57)}…` : path
  const request = api === 'websocket' ? 'a WebSocket' : `\`${method} ${shown}\``
  return `| ${[tried, request, counts ? `${before} ${counts}` : `${before} of ${times}`, String(passes), now].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
}

const elsewhereRowOf = ({ tried, before, now, test: [file, title] }: Elsewhere): string =>
  `| ${[tried, before, now, `[${title}](../${file})`].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`

const readPage = (): string => readFileSync(FILE, 'utf8')

/** The section as the page has it now. */
export function writtenSection(): string {
  const page = readPage()
  return page.slice(page.indexOf(BEGIN), page.indexOf(END) + END.length)
}

export function writeSection(): void {
  writeFileSync(
    FILE,
    readPage().replace(writtenSection(), () => section()),
  )
}
