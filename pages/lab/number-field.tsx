import { useEffect, useId, useState } from 'preact/hooks'
import { numberIn } from './link'
import { NUMBERS, type NumberField, wrongNumber } from './model/setting'

interface Props {
  readonly field: NumberField
  readonly value: number
  /** Whether the scenario does not read it. */
  readonly ignored: boolean
  /** The ends of its slider, and a step. @default no slider */
  readonly slider?: readonly [least: number, most: number, step: number]
  /** Takes the value, or says why not. */
  readonly onChange: (field: NumberField, value: number) => string | undefined
}

/** A number to type, and a slider. What is wrong is said beside it, and changes nothing. */
export function NumberInput({ field, value, ignored, slider, onChange }: Props) {
  const id = useId()
  const [text, setText] = useState(String(value))
  const [wrong, setWrong] = useState<string>()
  const { label, unit, least, most } = NUMBERS[field]
  useEffect(() => {
    setText(String(value))
    setWrong(undefined)
  }, [value])

  const take = (typed: string) => {
    setText(typed)
    const asked = numberIn(typed)
    const mistake = wrongNumber(field, asked)?.replace(/got no number$/, typed ? `got “${typed}”` : 'got nothing')
    setWrong(mistake ?? (asked === value ? undefined : onChange(field, asked)))
  }
  return (
    <div class={ignored ? 'field ignored' : 'field'}>
      <label for={id}>
        {label} <span class="unit">{unit}</span>
      </label>
      <div class="inputs">
        <input
          class="number"
          id={id}
          name={field}
          inputMode="numeric"
          autocomplete="off"
          value={text}
          disabled={ignored}
          aria-invalid={wrong ? 'true' : undefined}
          aria-describedby={wrong ? `${id}-wrong` : undefined}
          title={`${least} to ${most}`}
          onInput={({ currentTarget }) => take(currentTarget.value)}
        />
        {slider && (
          <input
            type="range"
            aria-label={`${label}, ${unit}`}
            min={slider[0]}
            max={slider[1]}
            step={slider[2]}
            value={Math.max(slider[0], Math.min(slider[1], value))}
            disabled={ignored}
            onInput={({ currentTarget }) => take(currentTarget.value)}
          />
        )}
      </div>
      {wrong && (
        <p class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </p>
      )}
    </div>
  )
}
