import { createInterface } from 'node:readline'
import { InterruptedError, UserError } from '../exit'
import type { Io } from './io'
import { printable } from './output'

/**
 * Asks for a yes. The question goes to standard error, so that standard output stays what was asked for.
 *
 * @param where what an answer changes, such as `table sluice-config in eu-central-1`.
 * @throws UserError where nobody can answer, or the answer is no. InterruptedError on Ctrl-C.
 */
export async function confirm(
  question: string,
  io: Io,
  options: { readonly yes?: boolean },
  where?: () => Promise<string>,
): Promise<void> {
  if (options.yes) return
  if (io.stdin.isTTY !== true) throw new UserError('nothing was written: no terminal for the question, use --yes')
  const answer = await ask(`${where ? `${await where()}: ` : ''}${question} [y/N] `, io)
  if (!/^y(es)?$/i.test(answer.trim())) throw new UserError('nothing was written')
}

function ask(question: string, io: Io): Promise<string> {
  io.stderr.write(printable(question))
  const lines = createInterface({ input: io.stdin, terminal: false })
  return io.interrupts.during((pressed) =>
    new Promise<string>((resolve, reject) => {
      const stop = () => reject(new InterruptedError(['', 'nothing was written']))
      pressed.addEventListener('abort', stop, { once: true })
      lines.once('line', resolve)
      lines.once('close', () => resolve(''))
    }).finally(() => lines.close()),
  )
}
