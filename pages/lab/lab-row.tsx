import { CopyButton } from '../shared/copy-button'
import { type Explanation, spoken } from './model/explain'
import { type FigureText, figureTexts } from './model/figure-texts'
import { policyOf, yamlOf } from './model/rows'
import type { Run } from './model/run'
import type { RowRun } from './model/run-row'
import { USES } from './model/uses'
import { standingAt } from './moments'
import type { Playhead } from './playhead'
import { RowPicture } from './row-picture'

interface Props {
  readonly row: RowRun
  readonly run: Run
  readonly highest: number
  readonly playhead: Playhead
  readonly at: number
  /** The request that is explained; below 0 where none has come. */
  readonly index: number
  readonly explanation?: Explanation
  readonly onPoint: (at: number) => void
}

/** One algorithm: what it did as a picture, in numbers and in a sentence. */
export function LabRow({ row, run, highest, playhead, at, index, explanation, onPoint }: Props) {
  const { algorithm, figures } = row
  const { limit } = run.setting
  const { allowed, denied, inWindow } = standingAt(row, run.windowMs, at)
  const { use, against, onPurpose = {} } = USES[algorithm]
  const labelOf = ({ id, label }: FigureText) =>
    id in onPurpose ? `${label.replace('wrongly ', '')} by ${onPurpose[id as keyof typeof onPurpose]}` : label
  const policy = policyOf(algorithm, run.setting)
  const details = [
    policy.mode === 'queue' ? 'as a queue' : '',
    policy.burst === undefined ? '' : `burst ${policy.burst}`,
    policy.buckets === undefined ? '' : `${policy.buckets} sub-windows`,
  ].filter(Boolean)
  return (
    <section class="panel algorithm" data-algorithm={algorithm} aria-labelledby={`row-${algorithm}`}>
      <header>
        <h3 id={`row-${algorithm}`}>{algorithm}</h3>
        <p class="details">{details.join(', ')}</p>
        <p class="use">
          For {use}. <span class="against">Against: {against}.</span>
        </p>
        <CopyButton
          text={yamlOf(policy)}
          label={`Copy as policy: ${algorithm}`}
          words="Copy as policy"
          where="under policies of a tier in tiers.yaml"
        />
      </header>
      <div class="watch">
        <RowPicture
          row={row}
          run={run}
          highest={highest}
          playhead={playhead}
          label={`${algorithm}: ${figures.admitted} of ${figures.requests} requests allowed, at most ${figures.mostInWindow} in a window with a limit of ${limit}`}
          onPoint={onPoint}
        />
        <p class="standing">
          {allowed} allowed, {denied} denied, {inWindow} of {limit} in the last window
        </p>
        <p class="why" data-index={index}>
          {index >= 0 && explanation && (
            <>
              <strong class={explanation.allowed ? 'good' : 'bad'}>
                Request {index + 1}, {spoken(row.times[index] ?? 0)}: {explanation.allowed ? 'allowed.' : 'denied.'}
              </strong>{' '}
              {explanation.sentence}
            </>
          )}
        </p>
      </div>
      <dl>
        {figureTexts(figures, limit).map((figure) => (
          <div key={figure.id} class={figure.id === 'most' && figures.mostInWindow > limit ? 'over' : undefined}>
            <dt>{labelOf(figure)}</dt>
            <dd data-figure={figure.id}>{figure.text}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
