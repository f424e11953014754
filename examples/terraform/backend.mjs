let served = 0

/** Answers both kinds of API, and says how many requests have reached it. */
export const handler = async (event) => ({
  statusCode: 200,
  body: JSON.stringify({ path: event.rawPath ?? event.path, served: ++served }),
})
