import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { Field } from '../shared/field'
import { Panel } from '../shared/panel'
import { clockText, durationText } from '../shared/time-text'
import { CallerActions, type CallerActionsProps } from './caller-actions'
import { typedNumber } from './numbers'
import type { TierChange, Wrong as WrongField } from './protocol'
import { type Known, post } from './stream'

interface Policy {
  readonly name: string
  readonly limit: number
  readonly window?: string
  readonly timeout?: string
}

interface Tiers {
  readonly file: {
    readonly tiers: Readonly<Record<string, { readonly policies?: readonly Policy[] }>>
    readonly exported?: Readonly<Record<string, string>>
  }
  readonly yaml: string
}

interface ChangeProps extends Omit<CallerActionsProps, 'asked' | 'isLatest'> {
  readonly known: Known
}

/** Limits and callers, changed as the command line would change them. */
export function Change({ known: { hello, standing }, apiKey, look, changed }: ChangeProps) {
  const [tiers, setTiers] = useState<Tiers>()
  /** What was chosen stays when the tiers change. */
  const [tier, setTier] = useState<string>()
  /** Where something was asked for last, and so where it is told: an old answer leaves when there is a new one. */
  const [form, setForm] = useState<'limits' | 'yaml' | 'caller'>('limits')
  const read = useCallback(async () => {
    const answer = await fetch('console/tiers')
    if (answer.ok) setTiers(await answer.json())
  }, [])
  const { at = 0, state = '' } = standing.change ?? {}
  useEffect(() => void read(), [read, at, state])
  if (!hello.isLocal || !tiers) return null
  const { change } = standing
  /** Its place is there before there is anything to tell. */
  const toldIn = (place: typeof form) => (
    <p class="small change" role="status" data-change={form === place ? change?.state : undefined}>
      {form === place && change && changeText(change)}
    </p>
  )
  return (
    <Panel
      id="change"
      title="Change"
      about="Applied as sluice tiers apply does it: to the table, and not to your file. In sluice history it is the console’s."
    >
      <Limits
        key={tiers.yaml}
        tiers={tiers}
        tier={tier ?? look?.tier ?? undefined}
        setTier={setTier}
        asked={() => setForm('limits')}
      >
        {toldIn('limits')}
      </Limits>
      <details>
        <summary>All tiers as YAML</summary>
        <Yaml key={`yaml ${tiers.yaml}`} tiers={tiers} asked={() => setForm('yaml')}>
          {toldIn('yaml')}
        </Yaml>
      </details>
      <CallerActions
        apiKey={apiKey}
        look={look}
        changed={changed}
        asked={() => setForm('caller')}
        isLatest={form === 'caller'}
      />
    </Panel>
  )
}

interface FormProps {
  readonly tiers: Tiers
  /** Is told when a change is asked for. */
  readonly asked: () => void
  /** What became of it. */
  readonly children: ComponentChildren
}

interface LimitsProps extends FormProps {
  readonly tier: string | undefined
  readonly setTier: (tier: string) => void
}

function Limits({ tiers, tier: wanted, setTier, asked, children }: LimitsProps) {
  const names = Object.keys(tiers.file.tiers)
  const tier = wanted !== undefined && names.includes(wanted) ? wanted : names[0]!
  const [edited, setEdited] = useState<Readonly<Record<string, string>>>({})
  const [wrong, setWrong] = useState<WrongField>()
  const policies = tiers.file.tiers[tier]?.policies ?? []
  const textIn = (field: string, was: string) => edited[`${tier} ${field}`] ?? was
  const input = (field: string, label: string, was: string, isNumber: boolean) => (
    <Field
      id={`change ${field}`.replace(/\W+/g, '-')}
      label={label}
      wrong={wrong?.field === field ? wrong.message : undefined}
    >
      {(attributes) => (
        <input
          {...attributes}
          {...(isNumber ? { type: 'number', step: 'any' } : { class: 'short' })}
          value={textIn(field, was)}
          onInput={({ currentTarget }) => setEdited({ ...edited, [`${tier} ${field}`]: currentTarget.value })}
        />
      )}
    </Field>
  )
  const apply = async () => {
    const limits = Object.fromEntries(
      policies.map(({ name, limit, window }) => {
        const number = typedNumber(textIn(`limit ${name}`, String(limit)))
        return [name, { limit: number, ...(window !== undefined && { window: textIn(`window ${name}`, window) }) }]
      }),
    )
    asked()
    setWrong((await post('apply', { tier, limits })).wrong)
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void apply()
      }}
    >
      <Field
        id="tier"
        label="Limits of tier"
        wrong={wrong?.field === 'tier' || wrong?.field === '' ? wrong.message : undefined}
      >
        {(attributes) => (
          <select
            {...attributes}
            value={tier}
            onChange={({ currentTarget }) => {
              setTier(currentTarget.value)
              setWrong(undefined)
            }}
          >
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </Field>
      {policies.map(({ name, limit, window }) => (
        <div class="row" key={`${tier} ${name}`}>
          {input(`limit ${name}`, `${name}: limit`, String(limit), true)}
          {window !== undefined && input(`window ${name}`, `${name}: window`, window, false)}
        </div>
      ))}
      <div class="row">
        <button type="submit" class="main">
          Apply limits
        </button>
        {children}
      </div>
    </form>
  )
}

function Yaml({ tiers, asked, children }: FormProps) {
  const [yaml, setYaml] = useState(tiers.yaml)
  const [wrong, setWrong] = useState<WrongField>()
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        asked()
        void post('apply', { yaml, exported: tiers.file.exported ?? {} }).then(({ wrong }) => setWrong(wrong))
      }}
    >
      <Field id="yaml" label="Tiers, routes and settings" wrong={wrong?.message}>
        {(attributes) => (
          <textarea
            {...attributes}
            rows={18}
            spellcheck={false}
            value={yaml}
            onInput={({ currentTarget }) => setYaml(currentTarget.value)}
          />
        )}
      </Field>
      <div class="row">
        <button type="submit" class="main">
          Apply YAML
        </button>
        {children}
      </div>
    </form>
  )
}

function changeText({ state, message, at, inForceAt }: TierChange): string {
  if (state === 'unchanged') return `No changes at ${clockText(at)}: these limits are in force already.`
  const applied = `${message || 'No changes'} at ${clockText(at)}.`
  return state === 'in-force'
    ? `${applied} In force in all authorizers after ${durationText(inForceAt! - at)}.`
    : `${applied} Not in force in all authorizers yet.`
}
