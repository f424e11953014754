import { SCENARIOS, settingOf, tooMuch } from './model/scenarios'
import {
  CURVE_PARTS,
  NUMBER_FIELDS,
  type NumberField,
  SCENARIO_IDS,
  type ScenarioId,
  type Setting,
  wrongNumber,
  wrongPart,
} from './model/setting'

/** What a link says, and what was wrong with it: that part has its default. */
export interface Linked {
  readonly setting: Setting
  readonly mistakes: readonly string[]
}

/** The whole setting as the part of a URL after `#`: what differs from the scenario's own numbers. */
export function toLink(setting: Setting): string {
  const own = settingOf(setting.scenario)
  const parameters = new URLSearchParams({ scenario: setting.scenario })
  for (const field of NUMBER_FIELDS) if (setting[field] !== own[field]) parameters.set(field, String(setting[field]))
  if (setting.scenario === 'drawn') parameters.set('curve', setting.curve.join('-'))
  return parameters.toString()
}

/** Reads such a part. What is wrong is told, and has its default. */
export function fromLink(link: string): Linked {
  const parameters = new URLSearchParams(link)
  const mistakes: string[] = []
  const scenario = parameters.get('scenario') ?? SCENARIO_IDS[2]!
  if (!Object.hasOwn(SCENARIOS, scenario))
    mistakes.push(`scenario must be one of ${SCENARIO_IDS.join(', ')}, got ${shown(scenario)}`)
  const own = settingOf(Object.hasOwn(SCENARIOS, scenario) ? (scenario as ScenarioId) : SCENARIO_IDS[2]!)
  const numbers: Partial<Record<NumberField, number>> = {}
  for (const [name, text] of parameters) {
    if (name === 'scenario' || name === 'curve') continue
    const field = NUMBER_FIELDS.find((known) => known === name)
    if (!field) {
      mistakes.push(`${shown(name)} is nothing that the lab knows`)
      continue
    }
    const wrong = wrongNumber(field, numberIn(text))
    if (wrong) mistakes.push(wrong.replace(/got no number$/, `got ${shown(text)}`))
    else numbers[field] = numberIn(text)
  }
  const curve = parameters.has('curve') ? curveIn(parameters.get('curve')!, mistakes) : own.curve
  const setting = { ...own, ...numbers, curve: curve ?? own.curve }
  const much = tooMuch(setting)
  if (!much) return { setting, mistakes }
  return { setting: own, mistakes: [...mistakes, much] }
}

/** A number as it is typed; NaN for anything else. */
export const numberIn = (text: string): number => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN)

function curveIn(text: string, mistakes: string[]): readonly number[] | undefined {
  const parts = text.split('-')
  const wrong = parts.map(numberIn).map(wrongPart).find(Boolean)
  if (parts.length !== CURVE_PARTS) mistakes.push(`curve must have ${CURVE_PARTS} parts, got ${parts.length}`)
  else if (wrong) mistakes.push(`curve: ${wrong}`)
  else return parts.map(numberIn)
  return undefined
}

const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
