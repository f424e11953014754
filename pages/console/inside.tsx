import { clockText } from '../shared/time-text'
import { Answer } from './answer'
import { Curl } from './curl'
import type { LastWrite } from './protocol'
import type { Known, Looked } from './stream'

interface InsideProps {
  readonly known: Known
  readonly looked: Looked | undefined
  readonly apiKey: string | null
  readonly route: string
}

/** The request for a terminal, its answer, what is stored of the caller, and the write that last changed something. */
export function Inside({ known: { hello, standing, aheadMs }, looked, apiKey, route }: InsideProps) {
  const { last, writes } = standing
  const { target } = hello.samples.find((one) => one.route === route)!
  const items = looked?.look.items ?? []
  const write = writes.find(({ key }) => key === items[0]?.key) ?? writes[0]
  return (
    <details class="panel" id="inside">
      <summary>
        <h2>Look inside</h2>{' '}
        <span class="small soft">the headers of the last answer, the stored item, the last write</span>
      </summary>
      <Curl url={hello.url} header={hello.keyHeader} apiKey={apiKey} route={route} target={target} />
      <Answer last={last} />
      <h3>All policies of a caller are in one item of DynamoDB</h3>
      {looked && items.length === 0 && <p class="small soft">Nothing is stored of this caller: no unit is in use.</p>}
      {items.map(({ key, of, bytes, attributes }) => (
        <div class="scroll" key={key}>
          <table class="item">
            <caption>
              The item of {of === 'global' ? 'everybody' : of}, {bytes} bytes
              {bytes <= 1024 && ': at most 1 KB, so that a write costs one write unit'}
            </caption>
            <thead>
              <tr>
                <th scope="col">Attribute</th>
                <th scope="col">Value</th>
                <th scope="col">Meaning</th>
              </tr>
            </thead>
            <tbody>
              {attributes.map(({ name, value, meaning }) => (
                <tr key={name}>
                  <td>
                    <code>{name}</code>
                  </td>
                  <td class="wrap">
                    <code>{value}</code>
                  </td>
                  <td>{meaning}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ))}
      {write && <Write write={write} aheadMs={aheadMs} />}
    </details>
  )
}

function Write({ write, aheadMs }: { readonly write: LastWrite; readonly aheadMs: number }) {
  const { at, refused, changes, conditions, update, condition, values } = write
  const became =
    refused === undefined
      ? 'Not answered'
      : refused
        ? '✕ Refused: a condition did not hold, so nothing was changed'
        : '✓ Applied: all conditions held'
  return (
    <div class="write" data-refused={String(refused)}>
      <h3>The last UpdateItem, at {clockText(at - aheadMs)}</h3>
      <p>
        <strong>{became}.</strong>{' '}
        <span class="soft">
          The condition does not say “the item is as I saw it”, but “there is room”: so instances that saw different
          things succeed one after another.
        </span>
      </p>
      <div class="words">
        <div>
          <h3>It changes</h3>
          <ul>
            {changes.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </div>
        <div>
          <h3>If all of this holds</h3>
          <ul>
            {conditions.map((one) => (
              <li key={one}>
                {one
                  .split('; or ')
                  .slice(0, 3)
                  .map((choice, i) => (
                    <span key={choice}>
                      {i > 0 && <em> or </em>}
                      {choice}
                    </span>
                  ))}
                {one.split('; or ').length > 3 && <em> or one of {one.split('; or ').length - 3} more</em>}
              </li>
            ))}
          </ul>
        </div>
      </div>
      <details>
        <summary class="small">As it was sent</summary>
        <pre>
          {`UpdateExpression     ${update}\nConditionExpression  ${condition}\nvalues               ${Object.entries(
            values,
          )
            .map(([name, value]) => `${name} ${value}`)
            .join('  ')}`}
        </pre>
      </details>
    </div>
  )
}
