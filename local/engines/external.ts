import { reasonOf, StartError } from '../start-error'
import { untilItAnswers } from './answers'
import type { Engine } from './engine'

/**
 * An engine that the user runs: DynamoDB Local, LocalStack, a table in AWS. This process waits for it, and never starts
 * or stops it.
 */
export async function useExternalEngine(endpoint: string, withinMs = 5000): Promise<Engine> {
  if (!isHttpUrl(endpoint)) {
    throw new StartError(`SLUICE_DYNAMODB_ENDPOINT must be a URL such as http://localhost:8000, got "${endpoint}"`)
  }
  try {
    await untilItAnswers(endpoint, withinMs)
  } catch (error) {
    throw new StartError(`no DynamoDB answers at ${endpoint} (SLUICE_DYNAMODB_ENDPOINT): ${reasonOf(error)}`)
  }
  return { name: 'your DynamoDB', endpoint, stop: async () => {} }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
