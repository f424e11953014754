import { withNumbers } from '../../provisioning/documents'
import { contentHash } from '../../provisioning/tiers-file'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import type { AttachJournal, LabelStep } from './steps'

/** The fields of an API's item in the config table; `undefined`: there is none. */
export type ApiItem = Readonly<Record<string, unknown>> | undefined

export const isSameItem = (one: ApiItem, other: ApiItem): boolean =>
  one === undefined || other === undefined ? one === other : hashOf(one) === hashOf(other)

const hashOf = (fields: ApiItem): string => contentHash(withNumbers(fields) as NonNullable<ApiItem>)

/** The label step of attach, if there is one. */
export const notedLabel = (recorded: AttachJournal | undefined): LabelStep | undefined =>
  recorded?.steps.find((step) => step.kind === 'label')

/**
 * Plans the step that gives an API its label; no step if it already has the label.
 *
 * @throws UserError if somebody else gave it another label.
 */
export function planLabel(
  api: { readonly id: string; readonly name: string },
  label: string | undefined,
  now: ApiItem,
  recorded: AttachJournal | undefined,
): LabelStep | undefined {
  if (label === undefined || now?.label === label) return undefined
  const noted = notedLabel(recorded)
  const isOurs = noted !== undefined && isSameItem(now, noted.after)
  if (now?.label !== undefined && !isOurs) {
    throw new UserError(
      `API ${api.id} already has the label ${printed(now.label)}, which attach did not set: leave --as out, or change it with sluice apis label ${api.id} ${label}`,
    )
  }
  const name = api.name.slice(0, 1024) || now?.name
  return { kind: 'label', before: isOurs ? noted.before : now, after: { ...(name !== undefined && { name }), label } }
}

/** How the label differs from what attach wrote; nothing if it does not, or attach wrote none. */
export function labelDrift(apiId: string, now: ApiItem, recorded: AttachJournal): string | undefined {
  const noted = notedLabel(recorded)
  if (!noted || isSameItem(now, noted.after)) return undefined
  if (now && now.label === noted.after.label) return `the name of the API labelled ${printed(now.label)} was changed`
  return calledText(apiId, now)
}

export const calledText = (apiId: string, now: ApiItem): string =>
  now?.label === undefined ? `API ${apiId} has lost its label` : `API ${apiId} now has the label ${printed(now.label)}`
