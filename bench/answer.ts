import type { Reply } from './child'

/**
 * The other end of `Child.ask`: answers each question under its number, and a failed one with the error's message. The
 * process ends when the channel closes.
 */
export function answerParent<Question extends { readonly id: number }>(answer: (question: Question) => unknown): void {
  process.on('message', async (question: Question) => {
    const { id } = question
    try {
      process.send?.({ id, value: await answer(question) } satisfies Reply)
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? error.message : String(error) } satisfies Reply)
    }
  })
  process.once('disconnect', () => process.exit())
}
