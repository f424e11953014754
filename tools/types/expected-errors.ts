import ts from 'typescript'

const EXPECTATION = /^\s*\/\/ @ts-expect-error: (.*)$/

/** The program without what makes the compiler silent, with the same lines. */
export const withoutExpectations = (text: string): string => text.replaceAll('// @ts-expect-error: ', '// ')

/**
 * What differs from the errors that a program expects: `// @ts-expect-error: text` wants one in the next line whose
 * message has the text.
 *
 * @param diagnostics of `withoutExpectations(text)`.
 */
export function unexpectedErrors(text: string, diagnostics: readonly ts.Diagnostic[]): string[] {
  const compiled = withoutExpectations(text)
  const messages = new Map<number, string>()
  for (const { start = 0, messageText } of diagnostics) {
    const line = compiled.slice(0, start).split('\n').length
    const message = ts.flattenDiagnosticMessageText(messageText, ' ').replaceAll('\\"', '"')
    messages.set(line, `${messages.get(line) ?? ''}${message} `)
  }
  const wanted = new Map<number, string>()
  for (const [i, line] of text.split('\n').entries()) {
    const [, message] = EXPECTATION.exec(line) ?? []
    if (message !== undefined) wanted.set(i + 2, message)
  }
  const isAsWanted = (line: number) => wanted.has(line) && messages.get(line)?.includes(wanted.get(line)!)
  return [...new Set([...messages.keys(), ...wanted.keys()])]
    .filter((line) => !isAsWanted(line))
    .map((line) => `${line}: wanted ${wanted.get(line) ?? 'no error'}, got ${messages.get(line) ?? 'none'}`)
}
