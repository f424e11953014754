import { useCallback, useEffect, useState } from 'preact/hooks'
import { Field, NumberField, Wrong } from '../shared/field'
import { Panel } from '../shared/panel'
import type { Look, Wrong as WrongField } from './protocol'
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

interface ChangeProps {
  readonly known: Known
  readonly apiKey: string | null
  readonly look: Look | undefined
  readonly changed: () => void
}

/** Limits and callers, changed as the command line would change them. */
export function Change({ known: { hello, standing }, apiKey, look, changed }: ChangeProps) {
  const [tiers, setTiers] = useState<Tiers>()
  const read = useCallback(async () => {
    const answer = await fetch('console/tiers')
    if (answer.ok) setTiers(await answer.json())
  }, [])
  const { at = 0, state = '' } = standing.change ?? {}
  useEffect(() => void read(), [read, at, state])
  if (!hello.isLocal || !tiers) return null
  return (
    <Panel
      id="change"
      title="Change"
      about="Applied as sluice tiers apply does it: to the table, and not to your file."
    >
      <Limits key={`${at}`} tiers={tiers} first={look?.tier ?? undefined} />
      <Yaml key={`yaml ${tiers.yaml}`} tiers={tiers} />
      <CallerActions apiKey={apiKey} look={look} changed={changed} />
    </Panel>
  )
}

function Limits({ tiers, first }: { readonly tiers: Tiers; readonly first: string | undefined }) {
  const names = Object.keys(tiers.file.tiers)
  const [tier, setTier] = useState(first !== undefined && names.includes(first) ? first : names[0]!)
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
        const text = textIn(`limit ${name}`, String(limit))
        const number = text.trim() === '' ? null : Number(text)
        return [name, { limit: number, ...(window !== undefined && { window: textIn(`window ${name}`, window) }) }]
      }),
    )
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
      </div>
    </form>
  )
}

function Yaml({ tiers }: { readonly tiers: Tiers }) {
  const [yaml, setYaml] = useState(tiers.yaml)
  const [wrong, setWrong] = useState<WrongField>()
  return (
    <details>
      <summary>All tiers as YAML</summary>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
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
        </div>
      </form>
    </details>
  )
}

function CallerActions({ apiKey, look, changed }: Omit<ChangeProps, 'known'>) {
  const [units, setUnits] = useState('5')
  const [said, setSaid] = useState('')
  const [wrong, setWrong] = useState<WrongField>()
  const act = async (action: string) => {
    const number = units.trim() === '' ? null : Number(units)
    const { ok, wrong } = await post<{ message: string; command: string }>('caller', { action, apiKey, units: number })
    setWrong(wrong)
    setSaid(ok ? `$ ${ok.command}\n${ok.message}` : '')
    changed()
  }
  return (
    <div class="stack">
      <h3>The caller {look && <code>{look.subject}</code>}</h3>
      <div class="row">
        <button type="button" onClick={() => void act('reset')}>
          Reset all limits
        </button>
        <button type="button" onClick={() => void act(look?.blocked ? 'unblock' : 'block')}>
          {look?.blocked ? 'Unblock' : 'Block'}
        </button>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault()
            void act('refund')
          }}
        >
          <NumberField
            id="units"
            label="Units"
            wrong={wrong?.field === 'units' ? wrong.message : undefined}
            value={units}
            onType={setUnits}
          />
          <button type="submit">Refund</button>
        </form>
      </div>
      <Wrong id="caller-wrong" message={wrong && wrong.field !== 'units' ? wrong.message : undefined} />
      <pre role="status" class="said">
        {said}
      </pre>
    </div>
  )
}
