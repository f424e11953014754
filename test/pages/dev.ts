import { join } from 'node:path'
import { runDev } from '../../local/dev'

const TIERS = join(__dirname, '..', '..', 'tiers.yaml')

/** A gateway on any free port, and where it is. */
export async function startDev() {
  const stop = new AbortController()
  const notes: string[] = []
  let ready: (url: string) => void
  const url = new Promise<string>((resolve) => {
    ready = resolve
  })
  const ended = runDev(
    { tiers: TIERS, port: 0, dynamodbPort: 0, api: 'rest', instances: 2, quiet: true },
    {
      env: { SLUICE_DEADLINE_MS: '2000' }, // on a busy machine, too, a decision is made with the table
      line: (text) => {
        const [, found] = /^Sluice is listening on (\S+)/.exec(text) ?? []
        if (found) ready(found)
      },
      note: (text) => notes.push(text),
      stop: stop.signal,
    },
  )
  return {
    url: await Promise.race([url, ended.then(() => Promise.reject(new Error(notes.join('\n'))))]),
    async stop() {
      stop.abort()
      await ended
    },
  }
}
