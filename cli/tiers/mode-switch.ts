import type { StoredItem } from '../../provisioning/documents'
import type { PolicySetItem } from '../../provisioning/tiers-file'
import { iso } from '../arguments'
import { tell } from '../callers/client-changes'
import type { OutputOptions, Session } from '../command'
import { UserError } from '../exit'
import type { ModeSwitch } from '../facade/policies'
import { switchKey } from '../facade/tables'
import { confirm } from '../terminal/question'
import { readItem, readPolicySet } from './read-policy-set'

export interface SwitchOptions extends OutputOptions {
  readonly note?: string
  readonly yes?: boolean
}

/** How long it takes until every instance applies a switch. */
const NOTICED = 'authorizers apply it within 30 seconds'

const SAID: Readonly<Record<ModeSwitch['mode'], readonly [state: string, effect: string]>> = {
  off: ['limits are off', 'requests are allowed without counting; blocks and credentials still apply'],
  observe: ['limits only observe', 'requests are counted, and none is denied for being over a limit'],
}

const QUESTIONS = { off: 'Turn all limits off', observe: 'Make all limits observe only' } as const

/** @param since in words, such as ` since 2026-11-21T12:00:00Z`. */
const saidOf = (mode: ModeSwitch['mode'], since = ''): string => `${SAID[mode][0]}${since}: ${SAID[mode][1]}`

/** Switches the limits of all APIs off, or to observing; what is switched so already stays as it is. */
export async function switchTo(mode: ModeSwitch['mode'], session: Session, options: SwitchOptions): Promise<void> {
  const connection = session.connect(options)
  const table = await connection.configTable()
  const before = switchOf(await table.policySet())
  const { item } = before ?? {}
  const was = item?.mode as ModeSwitch['mode'] | undefined
  const note = options.note ?? (was === mode ? (item?.note as string | undefined) : undefined)
  const since = was === mode ? item?.since : iso(session.io.clock())
  const after = { ...switchKey(), mode, since, ...(note && { note }) }
  if (was !== mode) await confirm(`${QUESTIONS[mode]}?`, session.io, options, () => connection.describe('config'))
  await session.io.interrupts.during(() => table.write([{ key: switchKey(), before: before?.exact, after }]))
  const instead =
    was === undefined ? '' : was === mode ? `; so it was already since ${since}` : `; before, ${SAID[was][0]}`
  tell(session, options, `${saidOf(mode)}${instead}; ${NOTICED}; turn limits on with sluice on`, {
    mode,
    since,
    note: note || null,
  })
}

/**
 * Takes the switch away, and says in which mode the settings leave the limits.
 *
 * @param only the mode that is to end; another one stays, and is a mistake. @default any
 */
export async function switchBack(session: Session, options: OutputOptions, only?: ModeSwitch['mode']): Promise<void> {
  const table = await session.connect(options).configTable()
  const items = await table.policySet()
  const before = switchOf(items)
  if (before && only !== undefined && before.item.mode !== only)
    throw new UserError('limits are off, not observing: turn them on with sluice on')
  if (before) await session.io.interrupts.during(() => table.write([{ key: switchKey(), before: before.exact }]))
  const others = items.filter((one) => one !== before).map(({ item }) => item)
  const { mode } = readPolicySet(others).configuration.policies.settings
  const done = before ? `limits are on again; ${NOTICED}` : 'limits were already on'
  const left = mode === 'enforce' ? '' : `, but the settings say mode: ${mode}`
  tell(session, options, `${done}${left}`, { mode, changed: before !== undefined })
}

/** What is on, in a line; `undefined` where nothing is. */
export function switchText(items: readonly PolicySetItem[]): string | undefined {
  const item = items.find(({ sk }) => sk === switchKey().sk)
  if (!item) return undefined
  const { modeSwitch } = readItem(item)
  if (!modeSwitch) return 'the item "switch" is invalid: remove it with sluice on'
  const since = typeof item.since === 'string' ? ` since ${item.since}` : ''
  const note = typeof item.note === 'string' ? ` (${item.note})` : ''
  return `${saidOf(modeSwitch.mode, `${since}${note}`)}; turn limits on with sluice on`
}

/** Settings by which limits are not enforced, a sentence each. */
export const settingsModes = (items: readonly PolicySetItem[]): { readonly sk: string; readonly text: string }[] =>
  items.flatMap(({ sk, mode }) => {
    if (!/^settings( @|$)/.test(sk) || (mode !== 'off' && mode !== 'observe')) return []
    return [{ sk, text: `${sk} says mode: ${mode}: ${SAID[mode][1]}` }]
  })

/** Warns whoever looks at limits that they are not enforced. */
export function warnOfSwitch({ print }: Session, text: string | undefined): void {
  if (text !== undefined) print.note(print.style('red', text))
}

const switchOf = (items: readonly StoredItem[]): StoredItem | undefined =>
  items.find(({ item }) => item.sk === switchKey().sk)
