import type { Scene } from './scene'

/** What came of a check. */
export type Finding =
  | { readonly verdict: 'as expected' | 'differs'; readonly did: string }
  | { readonly verdict: 'could not be told'; readonly because: string }

/** A question to AWS. */
export interface Check {
  readonly id: string
  /** The lines of docs/limitations.md that it is about, by what stands behind them: `<!-- acceptance: id -->`. */
  readonly lines: readonly string[]
  readonly asks: string
  /** What the code takes for granted. */
  readonly expects: string
  /** Why an emulator's answer says nothing. @default it is asked, so that the command itself is tried */
  readonly onlyAws?: string
  /** It changes what others look at, or measures times: it runs by itself, after the others. */
  readonly alone?: boolean
  run(scene: Scene): Promise<Finding>
}

/** What a check found, beside what it asked. */
export interface Row {
  readonly check: Pick<Check, 'id' | 'asks' | 'expects'>
  readonly finding: Finding
}

/** A finding by whether what AWS did is what was expected. */
export const found = (isExpected: boolean, did: string): Finding => ({
  verdict: isExpected ? 'as expected' : 'differs',
  did,
})

const untold = (because: string): Finding => ({ verdict: 'could not be told', because })

/** At once, of the checks that do not have to be alone. */
const AT_ONCE = 4

/**
 * Runs checks, and turns what they throw into a finding: something that did not work is no answer.
 *
 * @param stop ends it after the checks that run at that moment.
 */
export async function runChecks(
  checks: readonly Check[],
  scene: Scene,
  stop: AbortSignal,
  progress: (row: Row) => void,
): Promise<Row[]> {
  const rows = new Map<Check, Row>()
  const runOne = async (check: Check): Promise<void> => {
    if (stop.aborted) return
    const row = { check, finding: await findingOf(check, scene) }
    rows.set(check, row)
    progress(row)
  }
  const waiting = checks.filter(({ alone }) => !alone)
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await runOne(next)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  for (const check of checks.filter(({ alone }) => alone)) await runOne(check)
  return checks.flatMap((check) => rows.get(check) ?? [])
}

async function findingOf(check: Check, scene: Scene): Promise<Finding> {
  if (scene.isEmulator && check.onlyAws !== undefined) return untold(`an emulator: ${check.onlyAws}`)
  try {
    return await check.run(scene)
  } catch (error) {
    return untold(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  }
}
