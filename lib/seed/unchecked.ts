/**
 * Says that a check could not be made, and what to do; keeps the error's name, by which it may be tried again.
 *
 * @param what `whether the limiter is in use`.
 * @param anyway how to do without the check, in a sentence.
 */
export const unchecked =
  (what: string, anyway: string) =>
  (error: Error): never => {
    throw Object.assign(new Error(`cannot check ${what}: ${error.message}. ${anyway}`), {
      name: error.name,
      cause: error,
    })
  }
