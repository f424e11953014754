import type { Reply } from './child'

/**
 * The other end of `Child.ask`: answers each question by its number, a failure by its message, and ends with the
 * channel.
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
