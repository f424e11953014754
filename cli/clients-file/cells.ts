/**
 * What spreadsheets take for the beginning of a formula, also where they drop what stands before it: spaces, line ends,
 * a byte order mark and other characters that cannot be seen. Apostrophes of our own may stand there, too.
 */
const FORMULA = /^(?:'*[\t\r\n]|['\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠])/u

/** What stands quoted in CSV, by RFC 4180; spaces at an end, too, which some readers cut off. */
const QUOTED = /[",;\r\n\t]|^\s|\s$/

/**
 * One cell of a CSV file. A text that a spreadsheet would run as a formula has an apostrophe in front, which
 * `fromCell` takes away again.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
export function toCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The text that `toCell` made a cell of. A formula that was written by hand stays as it is. */
export const fromCell = (cell: string): string => (cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell)

export const toLine = (cells: readonly string[]): string => `${cells.map(toCell).join(',')}\r\n`
