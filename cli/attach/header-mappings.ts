import type { ApiState, Integration, Method } from './api-state'
import type { AttachJournal, IntegrationStep } from './steps'
import { isSameMappings, type Reverted, revertMappings } from './three-way'
import { withHeaders } from './wanted'

type Mappings = Integration['responseParameters']

const notedIntegrations = (recorded: AttachJournal | undefined): ReadonlyMap<string, IntegrationStep> =>
  new Map(recorded?.steps.flatMap((step) => (step.kind === 'integration' ? [[step.id, step] as const] : [])))

/**
 * What an integration's mappings should be, and what somebody changed of attach's, which is theirs from then on.
 *
 * @param noted the step of an earlier attach.
 */
function wantedMappings(now: Mappings, noted: IntegrationStep | undefined, statusCodes: readonly string[]) {
  const { result: before, changed }: Reverted<Mappings> = noted
    ? revertMappings(noted, now)
    : { result: now, changed: [] }
  return { before, after: withHeaders(before, statusCodes), changed }
}

/** The status codes for which a step maps headers. */
const codesOf = ({ before, after }: IntegrationStep): string[] =>
  Object.keys(after).filter((code) => !isSameMappings({ 0: before[code] ?? {} }, { 0: after[code] ?? {} }))

/**
 * The steps that have integrations add the limit's headers to answers.
 *
 * @param chosen the methods that are protected.
 * @param statusCodes for integrations of these methods. @default those on record, for integrations on record
 */
export function integrationSteps(
  { integrations }: ApiState,
  recorded: AttachJournal | undefined,
  chosen: readonly Method[],
  statusCodes: readonly string[] | undefined,
): IntegrationStep[] {
  const noted = notedIntegrations(recorded)
  return integrations.flatMap(({ id, responseParameters: now }): IntegrationStep[] => {
    const earlier = noted.get(id)
    const isChosen = statusCodes !== undefined && chosen.some(({ integrationId }) => integrationId === id)
    const codes = isChosen ? statusCodes : earlier && codesOf(earlier)
    if (!codes) return []
    const { before, after, changed } = wantedMappings(now, earlier, codes)
    if (isSameMappings(now, after) && changed.length === 0) return []
    return [{ kind: 'integration', id, before, after, ...(earlier && { from: now }) }]
  })
}

/** Warns of integrations that add headers to answers of routes that Sluice is not asked about. */
export function sharedNotes(
  steps: readonly IntegrationStep[],
  methods: readonly Method[],
  isProtected: (method: Method) => boolean,
): string[] {
  return steps.flatMap(({ id }) => {
    const open = methods.filter((method) => method.integrationId === id && !isProtected(method))
    if (open.length === 0) return []
    return [
      `integration ${id} also serves ${open.map(({ key }) => key).join(', ')} without Sluice: ` +
        'what API Gateway makes of rate-limit headers without a value there is not documented',
    ]
  })
}

/** How the header mappings of integrations differ from what attach set, a sentence each. */
export function mappingDrift({ integrations }: ApiState, recorded: AttachJournal): string[] {
  return [...notedIntegrations(recorded).values()].flatMap((noted) => {
    const integration = integrations.find(({ id }) => id === noted.id)
    if (!integration) return [`integration ${noted.id} is gone`]
    const now = integration.responseParameters
    const { after, changed } = wantedMappings(now, noted, codesOf(noted))
    const codes = [...new Set([...Object.keys(after), ...Object.keys(now)])]
    return [
      ...changed.map((name) => `${name} was changed since`),
      ...codes.flatMap((code) => unlike(code, now[code] ?? {}, after[code] ?? {})),
    ].map((what) => `integration ${noted.id}: ${what}`)
  })
}

function unlike(code: string, now: Mappings[string], wanted: Mappings[string]): string[] {
  const missing = Object.keys(wanted).filter((name) => !(name in now))
  const surplus = Object.keys(now).filter((name) => !(name in wanted))
  return [
    ...(missing.length > 0 ? [`${missing.join(', ')} for ${code} is missing`] : []),
    ...(surplus.length > 0
      ? [`${surplus.join(', ')} for ${code} is attach’s, beside another mapping of that header`]
      : []),
  ]
}
