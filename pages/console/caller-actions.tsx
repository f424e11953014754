import { useRef, useState } from 'preact/hooks'
import { Wrong } from '../shared/field'
import { typedNumber } from './numbers'
import type { Look, Wrong as WrongField } from './protocol'
import { RangeField } from './range-field'
import { post } from './stream'

export interface CallerActionsProps {
  readonly apiKey: string | null
  readonly look: Look | undefined
  readonly changed: () => void
  /** Is told when something is asked for. */
  readonly asked: () => void
  /** Whether nothing else was asked for since. */
  readonly isLatest: boolean
}

/** What the command line does to one caller. */
export function CallerActions({ apiKey, look, changed, asked, isLatest }: CallerActionsProps) {
  const [units, setUnits] = useState('5')
  const [said, setSaid] = useState('')
  const [wrong, setWrong] = useState<WrongField>()
  const latest = useRef({})
  const act = async (action: string) => {
    const one = {}
    latest.current = one
    asked()
    setSaid('')
    const body = { action, apiKey, units: typedNumber(units) }
    const { ok, wrong } = await post<{ message: string; command: string }>('caller', body)
    if (ok) changed()
    if (latest.current !== one) return // something else was asked for since
    setWrong(wrong)
    setSaid(ok ? `$ ${ok.command}\n${ok.message}` : '')
  }
  return (
    <div class="stack">
      <h3>The caller {look && <code>{look.subject}</code>}</h3>
      <div class="row">
        <button type="button" onClick={() => void act('reset')}>
          Reset all limits
        </button>
        <button type="button" class="block" onClick={() => void act(look?.blocked ? 'unblock' : 'block')}>
          {look?.blocked ? 'Unblock' : 'Block'}
        </button>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault()
            void act('refund')
          }}
        >
          <RangeField
            id="units"
            range="units"
            label="Units"
            wrong={wrong?.field === 'units' ? wrong.message : undefined}
            value={units}
            onType={(text) => {
              setUnits(text)
              setWrong(undefined)
            }}
          />
          <button type="submit">Refund</button>
        </form>
      </div>
      <Wrong id="caller-wrong" message={wrong && wrong.field !== 'units' ? wrong.message : undefined} />
      <pre role="status" class="said">
        {isLatest && said}
      </pre>
    </div>
  )
}
