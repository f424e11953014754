import { clockText } from '../shared/time-text'
import { headerText } from './header-text'
import type { LastAnswer } from './protocol'

/** The last answer with its headers, each in a sentence. */
export function Answer({ last }: { readonly last: LastAnswer | null }) {
  if (!last) return null
  const { status, headers, body, request, at } = last
  const told = headers.flatMap(([name, value]) => {
    const text = headerText(name, value, status)
    return text === undefined ? [] : [{ name, value, text }]
  })
  return (
    <div class="stack" id="answer">
      <h3>
        The last answer: {status}, to {request} at {clockText(at)}
      </h3>
      <div class="scroll">
        <table>
          <caption class="hidden">Headers of the last answer</caption>
          <thead>
            <tr>
              <th scope="col">Header</th>
              <th scope="col">What it says</th>
            </tr>
          </thead>
          <tbody>
            {told.map(({ name, value, text }) => (
              <tr key={name}>
                <td class="wrap">
                  <code>
                    {name}: {value}
                  </code>
                </td>
                <td>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <details>
        <summary class="small">Body</summary>
        <pre class="body">{body}</pre>
      </details>
    </div>
  )
}
