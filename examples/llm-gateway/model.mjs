import { setTimeout as sleep } from 'node:timers/promises'

const WORDS = 'water finds its way and a gate decides how much of it passes'.split(' ')

/**
 * Stands in for a model that streams its answer, such as Amazon Bedrock's ConverseStream: each part says how many
 * tokens the request has used so far, those of the prompt included.
 */
export async function* ask(prompt, { words = 40, wordsPerSecond = 400 } = {}) {
  if (prompt === 'fail') throw new Error('the model has failed')
  let totalTokens = Math.ceil(prompt.length / 4)
  for (let i = 0; i < words; i++) {
    await sleep(1000 / wordsPerSecond)
    totalTokens += 1
    yield { text: `${i > 0 ? ' ' : ''}${WORDS[i % WORDS.length]}`, totalTokens }
  }
}
