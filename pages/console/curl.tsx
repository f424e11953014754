import { useState } from 'preact/hooks'

interface CurlProps {
  readonly url: string
  readonly header: string | null
  readonly apiKey: string | null
  readonly route: string
  readonly target: string
}

/** The same request for a terminal. */
export function Curl({ url, header, apiKey, route, target }: CurlProps) {
  const [said, setSaid] = useState('')
  const method = route.split(' ')[0]!
  const line = [
    'curl -i',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...(apiKey !== null && header ? [`-H ${quoted(`${header}: ${apiKey}`)}`] : []),
    quoted(`${url}${target}`),
  ].join(' ')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line)
      setSaid('Copied.')
    } catch {
      setSaid('The browser refuses: select the line and copy it.')
    }
  }
  return (
    <div class="curl">
      <h3>The same in a terminal</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
      <pre tabIndex={0}>{line}</pre>
      <div class="row">
        <button type="button" onClick={copy}>
          Copy
        </button>
        <span class="small soft" role="status">
          {said}
        </span>
      </div>
    </div>
  )
}

/** For a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w:/.=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
