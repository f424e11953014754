import { CurveEditor } from './curve-editor'
import { SCENARIOS, scenarioOf, settingOf, tooMuch } from './model/scenarios'
import { type NumberField, SCENARIO_IDS, type ScenarioId, type Setting } from './model/setting'
import { NumberInput } from './number-field'

interface Props {
  readonly setting: Setting
  readonly onChange: (setting: Setting) => void
}

const SLIDERS = {
  rate: [10, 500, 10],
  limit: [1, 100, 1],
  window: [1, 300, 1],
  burst: [1, 100, 1],
  spread: [1, 50, 1],
  windows: [2, 40, 1],
  seed: undefined,
} as const satisfies Partial<Record<NumberField, readonly [number, number, number] | undefined>>

const FIRST: readonly NumberField[] = ['rate', 'limit', 'window', 'burst']
const MORE: readonly NumberField[] = ['spread', 'windows', 'seed']

/** What is sent, and by which numbers it is limited. */
export function Controls({ setting, onChange }: Props) {
  const { story, ignores } = scenarioOf(setting)
  const change = (changed: Setting): string | undefined => {
    const much = tooMuch(changed)
    if (!much) onChange(changed)
    return much
  }
  const input = (field: NumberField) => (
    <NumberInput
      key={`${setting.scenario} ${field}`}
      field={field}
      value={setting[field]}
      ignored={ignores.includes(field)}
      slider={SLIDERS[field]}
      onChange={(_, value) => change({ ...setting, [field]: value })}
    />
  )
  return (
    <form class="panel controls" aria-label="Traffic and limits" onSubmit={(event) => event.preventDefault()}>
      <div class="field scenario">
        <label for="scenario">Traffic</label>
        <select
          id="scenario"
          value={setting.scenario}
          onChange={({ currentTarget }) => onChange(settingOf(currentTarget.value as ScenarioId))}
        >
          {SCENARIO_IDS.map((id) => (
            <option key={id} value={id} selected={id === setting.scenario}>
              {SCENARIOS[id].title}
            </option>
          ))}
        </select>
        <p class="story">{story}</p>
      </div>
      <div class="fields">{FIRST.map(input)}</div>
      {setting.scenario === 'drawn' && (
        <CurveEditor curve={setting.curve} onChange={(curve) => change({ ...setting, curve })} />
      )}
      <details>
        <summary>More numbers</summary>
        <div class="fields">{MORE.map(input)}</div>
      </details>
    </form>
  )
}
