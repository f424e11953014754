import { useRef, useState } from 'preact/hooks'
import { numberIn } from './link'
import { CURVE_PARTS, MAX_CURVE_PERCENT, wrongPart } from './model/setting'

interface Props {
  readonly curve: readonly number[]
  /** Takes the curve, or says why not. */
  readonly onChange: (curve: readonly number[]) => string | undefined
}

const [WIDTH, HEIGHT] = [720, 150]
/** What a pointer reaches; numbers go higher. */
const MAX_DRAWN_PERCENT = 300
const STEP = 5

/** Draws traffic over time with the pointer; each part can be typed as well. */
export function CurveEditor({ curve, onChange }: Props) {
  const drawing = useRef<SVGSVGElement>(null)
  const last = useRef<number>(undefined)
  const [texts, setTexts] = useState<Readonly<Record<number, string>>>({})
  const [wrong, setWrong] = useState<{ readonly part: number; readonly why: string }>()
  const yOf = (percent: number): number => HEIGHT - (Math.min(percent, MAX_DRAWN_PERCENT) / MAX_DRAWN_PERCENT) * HEIGHT

  const draw = ({ clientX, clientY }: PointerEvent) => {
    const { left, top, width, height } = drawing.current!.getBoundingClientRect()
    const part = Math.max(0, Math.min(CURVE_PARTS - 1, Math.floor(((clientX - left) / width) * CURVE_PARTS)))
    const share = 1 - Math.max(0, Math.min(1, (clientY - top) / height))
    const percent = Math.round((share * MAX_DRAWN_PERCENT) / STEP) * STEP
    const from = last.current ?? part // what a quick pointer passed over has the same height
    const [first, end] = [Math.min(from, part), Math.max(from, part)]
    last.current = part
    setTexts({})
    const why = onChange(
      curve.map((before, i) => (i >= first && i <= end && (i !== from || from === part) ? percent : before)),
    )
    setWrong(why ? { part, why } : undefined)
  }
  const type = (part: number, text: string) => {
    setTexts({ ...texts, [part]: text })
    const percent = numberIn(text)
    const mistake = wrongPart(percent)?.replace(/got no number$/, text ? `got “${text}”` : 'got nothing')
    const why = mistake ?? onChange(curve.map((before, i) => (i === part ? percent : before)))
    setWrong(why ? { part, why } : undefined)
    if (!why) setTexts({})
  }

  return (
    <fieldset class="curve">
      <legend>Your curve, in percent of the limit</legend>
      <svg
        ref={drawing}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label="The traffic over time, to draw with a pointer; the fields below are the same"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          last.current = undefined
          draw(event)
        }}
        onPointerMove={(event) => event.buttons > 0 && draw(event)}
      >
        {curve.map((percent, i) => (
          <rect
            key={i}
            x={(i * WIDTH) / CURVE_PARTS + 1}
            width={WIDTH / CURVE_PARTS - 2}
            y={yOf(percent)}
            height={HEIGHT - yOf(percent)}
          />
        ))}
        <line x1="0" x2={WIDTH} y1={yOf(100)} y2={yOf(100)} />
      </svg>
      <details>
        <summary>As numbers</summary>
        <ol class="parts">
          {curve.map((percent, i) => (
            <li key={i}>
              <input
                class="number"
                inputMode="numeric"
                aria-label={`Part ${i + 1} of ${CURVE_PARTS}, percent of the limit, 0 to ${MAX_CURVE_PERCENT}`}
                aria-invalid={wrong?.part === i ? 'true' : undefined}
                aria-describedby={wrong?.part === i ? 'curve-wrong' : undefined}
                value={texts[i] ?? String(percent)}
                onInput={({ currentTarget }) => type(i, currentTarget.value)}
              />
            </li>
          ))}
        </ol>
      </details>
      {wrong && (
        <p class="wrong" id="curve-wrong" role="alert">
          Part {wrong.part + 1}: {wrong.why}
        </p>
      )}
    </fieldset>
  )
}
