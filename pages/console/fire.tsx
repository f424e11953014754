import { useState } from 'preact/hooks'
import { Field, Wrong } from '../shared/field'
import { Panel } from '../shared/panel'
import { typedNumber } from './numbers'
import type { Pace, Wrong as WrongField } from './protocol'
import { RangeField } from './range-field'
import { type Known, post } from './stream'

interface FireProps {
  readonly known: Known
  readonly apiKey: string | null
  readonly setApiKey: (apiKey: string | null) => void
  readonly route: string
  readonly setRoute: (route: string) => void
}

const OWN = 'own'
const HOLD_PER_SECOND = 20

/** Who asks for what, and how often. */
export function Fire({ known: { hello, standing }, apiKey, setApiKey, route, setRoute }: FireProps) {
  const [isOwn, setOwn] = useState(false)
  const [kind, setKind] = useState<Pace['kind']>('burst')
  const [requests, setRequests] = useState('25')
  const [perSecond, setPerSecond] = useState('2')
  const [wrong, setWrong] = useState<WrongField>()
  const chosen = isOwn ? OWN : String(hello.callers.findIndex((one) => one.apiKey === apiKey))
  const fire = async (pace: object) => setWrong((await post('fire', { route, apiKey, pace })).wrong)
  const stop = () => void post('stop', {})
  const hold = () => void fire({ kind: 'steady', perSecond: HOLD_PER_SECOND })
  const typedInto = (set: (text: string) => void) => (text: string) => {
    set(text)
    setWrong(undefined)
  }
  const wrongOf = (field: string) => (wrong?.field === field ? wrong.message : undefined)
  return (
    <Panel id="fire" title="Fire">
      <Field id="who" label="Who" wrong={wrongOf('apiKey')}>
        {(attributes) => (
          <select
            {...attributes}
            value={chosen}
            onChange={({ currentTarget: { value } }) => {
              setOwn(value === OWN)
              setApiKey(value === OWN ? '' : hello.callers[Number(value)]!.apiKey)
            }}
          >
            {hello.callers.map(({ label }, i) => (
              <option key={label} value={String(i)}>
                {label}
              </option>
            ))}
            {hello.keyHeader && <option value={OWN}>a key that I type</option>}
          </select>
        )}
      </Field>
      {isOwn && (
        <Field id="key" label="Key" wrong={undefined}>
          {(attributes) => (
            <input
              {...attributes}
              class="mono"
              autocomplete="off"
              spellcheck={false}
              value={apiKey ?? ''}
              onInput={({ currentTarget }) => setApiKey(currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field id="what" label="What" wrong={wrongOf('route')}>
        {(attributes) => (
          <select {...attributes} value={route} onChange={({ currentTarget }) => setRoute(currentTarget.value)}>
            {hello.samples.map((one) => (
              <option key={one.route} value={one.route}>
                {one.route} ({one.cost})
              </option>
            ))}
          </select>
        )}
      </Field>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void fire(
            kind === 'burst' ? { kind, requests: typedNumber(requests) } : { kind, perSecond: typedNumber(perSecond) },
          )
        }}
      >
        <Field id="how" label="How" wrong={wrongOf('pace')}>
          {(attributes) => (
            <select
              {...attributes}
              value={kind}
              onChange={({ currentTarget }) => setKind(currentTarget.value as Pace['kind'])}
            >
              <option value="burst">a burst: all at once</option>
              <option value="steady">a steady rate</option>
              <option value="poisson">a random rate (Poisson)</option>
            </select>
          )}
        </Field>
        {kind === 'burst' ? (
          <RangeField
            id="requests"
            range="requests"
            label="Requests"
            wrong={wrongOf('requests')}
            value={requests}
            onType={typedInto(setRequests)}
          />
        ) : (
          <RangeField
            id="rate"
            range="perSecond"
            label="A second"
            wrong={wrongOf('perSecond')}
            value={perSecond}
            onType={typedInto(setPerSecond)}
          />
        )}
        <p class="small soft sending" role="status">
          {firingText(standing.firing)}
        </p>
        <div class="buttons">
          <button type="submit" class="main">
            Fire
          </button>
          <button type="button" onClick={() => void fire({ kind: 'burst', requests: 1 })}>
            Fire one
          </button>
          <button type="button" disabled={standing.firing === null} onClick={stop}>
            Stop
          </button>
        </div>
      </form>
      <button
        type="button"
        class="hold"
        onPointerDown={hold}
        onPointerUp={stop}
        onPointerLeave={({ buttons }) => buttons > 0 && stop()}
        onPointerCancel={stop}
        onKeyDown={(event) => {
          if (event.repeat || (event.key !== ' ' && event.key !== 'Enter')) return
          event.preventDefault()
          hold()
        }}
        onKeyUp={({ key }) => (key === ' ' || key === 'Enter') && stop()}
        onBlur={() => standing.firing && stop()}
      >
        Hold to fire: {HOLD_PER_SECOND} a second
      </button>
      <Wrong id="fire-wrong" message={wrongOf('')} />
    </Panel>
  )
}

function firingText(shot: Known['standing']['firing']): string {
  if (!shot) return 'Nothing is being sent.'
  const { pace } = shot
  if (pace.kind === 'burst') return `Sending ${pace.requests} × ${shot.route}.`
  return `Sending ${shot.route}, ${pace.perSecond} a second${pace.kind === 'poisson' ? ' on average' : ''}.`
}
