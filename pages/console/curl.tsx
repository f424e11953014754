import { CopyButton } from '../shared/copy-button'

interface CurlProps {
  readonly url: string
  readonly header: string | null
  readonly apiKey: string | null
  readonly route: string
  readonly target: string
}

/** The same request for a terminal. */
export function Curl({ url, header, apiKey, route, target }: CurlProps) {
  const method = route.split(' ')[0]!
  const line = [
    'curl -i',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...(apiKey !== null && header ? [`-H ${quoted(`${header}: ${apiKey}`)}`] : []),
    quoted(`${url}${target}`),
  ].join(' ')
  return (
    <div class="curl">
      <h3>The same in a terminal</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
      <pre tabIndex={0}>{line}</pre>
      <CopyButton text={line} words="Copy" />
    </div>
  )
}

/** For a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w:/.=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
