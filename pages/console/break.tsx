import { useEffect, useState } from 'preact/hooks'
import { Wrong } from '../shared/field'
import { Panel } from '../shared/panel'
import { typedNumber } from './numbers'
import type { Trouble, WithoutTable, Wrong as WrongField } from './protocol'
import { RangeField } from './range-field'
import { type Known, post } from './stream'

const TROUBLES: readonly (readonly [trouble: Trouble, label: string])[] = [
  ['none', 'Up'],
  ['slow', 'Slow'],
  ['throttled', 'Throttling'],
  ['down', 'Unavailable'],
]

interface BreakProps {
  readonly known: Known
  /** Of the chosen caller. */
  readonly withoutTable: WithoutTable | undefined
}

/** What is done to DynamoDB as the authorizers see it. */
export function Break({ known: { hello, standing }, withoutTable }: BreakProps) {
  const [slowMs, setSlowMs] = useState('200')
  const [wrong, setWrong] = useState<WrongField>()
  /** What was chosen, until the gateway has done it. */
  const [chosen, setChosen] = useState<Trouble>()
  const { trouble } = standing
  useEffect(() => setChosen(undefined), [trouble])
  const choose = async (wanted: Trouble, ms: string) => {
    setChosen(wanted)
    const { wrong } = await post('break', { trouble: wanted, slowMs: typedNumber(ms) })
    if (wrong) setChosen(undefined)
    setWrong(wrong)
  }
  if (!hello.isLocal) return null
  return (
    <Panel id="break" title="Break it" about="DynamoDB, as the authorizers see it:">
      <fieldset>
        <legend class="hidden">DynamoDB is</legend>
        <div class="troubles">
          {TROUBLES.map(([one, label]) => (
            <label key={one}>
              <input
                type="radio"
                name="trouble"
                value={one}
                checked={(chosen ?? trouble) === one}
                onChange={() => void choose(one, slowMs)}
              />
              <span>{label}</span>
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
          label="Delay, ms"
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
      <p class="small soft advice" id="away">
        {adviceOf(trouble, withoutTable)}
      </p>
    </Panel>
  )
}

function adviceOf(trouble: Trouble, withoutTable: WithoutTable | undefined): string {
  if (trouble === 'none') return 'The circuit breaker opens when half of the calls fail, and closes by itself.'
  if (trouble === 'slow') return 'Fire: decisions wait for it; one that would wait too long is made without it.'
  return `Fire: while DynamoDB does not answer, the tier’s failure mode decides, which is ${modeText(withoutTable)}.`
}

function modeText({ failureMode, localShare }: WithoutTable = { failureMode: 'local', localShare: 1 }): string {
  if (failureMode === 'allow') return 'allow: everything passes, uncounted'
  if (failureMode === 'deny') return 'deny: nothing passes'
  const percent = Number((localShare * 100).toFixed(2))
  return `local: each authorizer counts in its own memory, and admits ${percent} % of what was left of every limit`
}
