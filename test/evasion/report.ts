import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../../lib/format-markdown'
import { type Attack, TOPICS } from './attack'
import { ATTACKS, LEFT } from './attacks'
import { ELSEWHERE, type Elsewhere } from './elsewhere'
import { sentAs } from './events-of'

const FILE = join(__dirname, '..', '..', 'docs', 'attacks.md')
const [BEGIN, END] = ['<!-- npm run docs:security -->', '<!-- the end of what it writes -->']

/** How often an attack is sent that does not say it. */
const USUAL_TIMES = 30

/** What docs/attacks.md says of the attacks. */
export function section(): string {
  const topics = TOPICS.map((topic) => {
    const rows = merged(ATTACKS.filter(({ about }) => about === topic).map(rowOf))
    return [`### ${topic}`, '', '| what was tried | passed | why |', '|---|---|---|', ...rows, ''].join('\n')
  })
  const elsewhere = [
    '### What is deployed',
    '',
    '| what was tried | what comes of it | test |',
    '|---|---|---|',
    ...ELSEWHERE.map(elsewhereRowOf),
    '',
  ].join('\n')
  const left = LEFT.map(([what, to]) => `| ${what} | ${to} |`)
  const text = [...topics, elsewhere, '### What is left to others', '', '| what | to whom |', '|---|---|', ...left]
  return formatMarkdown([BEGIN, '', ...text, '', END].join('\n')).trim()
}

/** What was tried, with the request where its path matters, and what came of it. */
function rowOf(attack: Attack): { tried: string; result: string } {
  const { tried, times = USUAL_TIMES, passes, now, api = 'rest', counts } = attack
  const { method = 'GET', path } = sentAs(attack, 1)
  const shown = path.length > 60 ? `${path.slice(0, 57)}…` : path
  const request =
    api === 'websocket' || path === '/anything' || tried.includes(`\`${shown}\``)
      ? ''
      : `: \`${method === 'GET' ? '' : `${method} `}${shown}\``
  const passed = counts ? `${passes} ${counts} in ${times}` : times === USUAL_TIMES ? passes : `${passes} of ${times}`
  return { tried: inCell(tried + request), result: `${passed} | ${inCell(now)}` }
}

/** Attacks that come one after another, and of which the same came, are one row. */
function merged(rows: readonly { tried: string; result: string }[]): string[] {
  const lines: { tried: string[]; result: string }[] = []
  for (const { tried, result } of rows) {
    const last = lines.at(-1)
    if (last?.result === result) last.tried.push(tried)
    else lines.push({ tried: [tried], result })
  }
  return lines.map(({ tried, result }) => `| ${tried.join('<br>')} | ${result} |`)
}

const inCell = (text: string): string => text.replaceAll('|', '\\|')

const elsewhereRowOf = ({ tried, now, test: [file] }: Elsewhere): string =>
  `| ${inCell(tried)} | ${inCell(now)} | [${file.slice('test/'.length, -'.test.ts'.length)}](../${file}) |`

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
