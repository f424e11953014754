import { withRateLimit } from 'sluice/backend'
import { ask } from './model.mjs'

/** Answers `{ "prompt": "…" }` with what the model says, and what it used. */
async function chat({ body }) {
  const { prompt = '', words, wordsPerSecond } = JSON.parse(body || '{}')
  let text = ''
  let tokens = 0
  for await (const part of ask(prompt, { words, wordsPerSecond })) {
    text += part.text
    tokens = part.totalTokens
  }
  return { statusCode: 200, body: JSON.stringify({ text, usage: { total_tokens: tokens } }), tokens }
}

// Once it has answered, the tokens that it used are charged, whatever was reserved. A handler that throws has used what
// was reserved. Either frees the caller's slot of the policy `running`.
export const handler = withRateLimit(chat, { cost: (_event, { tokens }) => ({ costs: { tokens } }) })
