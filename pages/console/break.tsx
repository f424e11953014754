import { useEffect, useState } from 'preact/hooks'
import { Wrong } from '../shared/field'
import { Panel } from '../shared/panel'
import { typedNumber } from './numbers'
import type { Trouble, Wrong as WrongField } from './protocol'
import { RangeField } from './range-field'
import { type Known, post } from './stream'

const TROUBLES: readonly (readonly [trouble: Trouble, label: string, about: string])[] = [
  ['none', 'Up', 'as it should be'],
  ['slow', 'Slow', 'each call waits first'],
  ['throttled', 'Throttling', 'each call is refused as one too many'],
  ['down', 'Away', 'connections are cut'],
]

/** What is done to DynamoDB as the authorizers see it. */
export function Break({ known: { hello, standing } }: { readonly known: Known }) {
  const [slowMs, setSlowMs] = useState('200')
  const [wrong, setWrong] = useState<WrongField>()
  /** What was chosen, until the gateway has done it. */
  const [chosen, setChosen] = useState<Trouble>()
  const { trouble, circuitsOpen, instances } = standing
  useEffect(() => setChosen(undefined), [trouble])
  const choose = async (wanted: Trouble, ms: string) => {
    setChosen(wanted)
    const { wrong } = await post('break', { trouble: wanted, slowMs: typedNumber(ms) })
    if (wrong) setChosen(undefined)
    setWrong(wrong)
  }
  if (!hello.isLocal) return null
  return (
    <Panel id="break" title="Break it" about="DynamoDB, as the authorizers see it.">
      <fieldset>
        <legend class="hidden">DynamoDB is</legend>
        <div class="troubles">
          {TROUBLES.map(([one, label, about]) => (
            <label key={one}>
              <input
                type="radio"
                name="trouble"
                value={one}
                checked={(chosen ?? trouble) === one}
                onChange={() => void choose(one, slowMs)}
              />
              <span>
                <strong>{label}</strong> <span class="soft small">{about}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          void choose('slow', slowMs)
        }}
      >
        <RangeField
          id="slow"
          range="slowMs"
          label="Delay when slow, in ms"
          wrong={wrong?.field === 'slowMs' ? wrong.message : undefined}
          value={slowMs}
          onType={(text) => {
            setSlowMs(text)
            setWrong(undefined)
          }}
        />
        <button type="submit">Make it slow</button>
      </form>
      <Wrong id="break-wrong" message={wrong && wrong.field !== 'slowMs' ? wrong.message : undefined} />
      <div role="status" class="circuit" data-open={circuitsOpen} data-trouble={trouble}>
        <p>
          <strong>{circuitsOpen > 0 ? '△ Circuit breaker open' : '✓ Circuit breaker closed'}</strong>
          {circuitsOpen > 0 && ` in ${circuitsOpen} of ${instances} authorizers`}
        </p>
        <p class="small soft">{adviceOf(trouble, circuitsOpen)}</p>
      </div>
    </Panel>
  )
}

function adviceOf(trouble: Trouble, circuitsOpen: number): string {
  if (circuitsOpen > 0)
    return trouble === 'none'
      ? 'They probe DynamoDB with one call at a time, and recover with the first that succeeds: send some requests.'
      : 'They decide without DynamoDB at once, and try it now and then. Such decisions are marked as degraded (△).'
  if (trouble === 'none') return 'It opens when half of the calls fail, and closes by itself.'
  return 'Send requests: those that cannot be counted are decided by the tier’s failure mode, and marked as degraded (△).'
}
