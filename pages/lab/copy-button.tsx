import { useState } from 'preact/hooks'

interface Props {
  /** What is copied. @default the page's address */
  readonly text?: string
  readonly label?: string
  readonly words: string
  /** Where it belongs. @default not said */
  readonly where?: string
}

/** Copies a text, and says so. Where the browser refuses, the text is shown to be copied by hand. */
export function CopyButton({ text, label, words, where }: Props) {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>()
  const wanted = () => text ?? location.href
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(wanted())
      setOutcome('copied')
    } catch {
      setOutcome('refused')
    }
  }
  return (
    <span class="copy">
      <button type="button" aria-label={label} onClick={copy} onBlur={() => setOutcome(undefined)}>
        {words}
      </button>
      <span role="status">
        {outcome === 'copied' ? (
          `Copied${where ? `: it goes ${where}` : ''}`
        ) : outcome === 'refused' ? (
          <code>{wanted()}</code>
        ) : (
          ''
        )}
      </span>
    </span>
  )
}
