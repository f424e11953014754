import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** How often the file is polled. Polling works for replaced files, and on every file system. */
const INTERVAL_MS = 200

/** A file counts as saved when it has not changed for this time: editors write in several steps. */
const SETTLED_MS = 60

/** The listeners to a watched file. */
export interface FileChanges {
  /** Gets the text. Called for one text at a time, in the order in which they were saved. */
  saved(text: string): Promise<void>
  /** The file is missing or unreadable. */
  gone(): void
}

/**
 * Watches a file that may be written, replaced, deleted and created again.
 *
 * @param text its last known content.
 * @returns a function that stops watching.
 */
export function watchText(path: string, text: string, changes: FileChanges): () => void {
  let last: string | undefined = text
  let isLooking = false
  let again = false
  let stopped = false

  const look = async () => {
    again = true
    if (isLooking) return
    isLooking = true
    while (again && !stopped) {
      again = false
      const now = await settled(path)
      if (stopped || now === last) continue
      last = now
      if (now === undefined) changes.gone()
      else await changes.saved(now)
    }
    isLooking = false
  }
  const listener = () => void look()
  watchFile(path, { interval: INTERVAL_MS }, listener)
  listener() // it may have been saved since it was read
  return () => {
    stopped = true
    unwatchFile(path, listener)
  }
}

async function settled(path: string): Promise<string | undefined> {
  let before = read(path)
  for (;;) {
    await sleep(SETTLED_MS)
    const now = read(path)
    if (now === before) return now
    before = now
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
