import { useEffect, useRef, useState } from 'preact/hooks'

interface Props {
  /** What is copied. @default the page's address */
  readonly text?: string
  readonly label?: string
  readonly words: string
  /** Where it belongs. @default not said */
  readonly where?: string
}

/** How long the button says that it copied, in milliseconds. */
const CONFIRMED_MS = 2000

/**
 * Copies a text, and says so in the place of its words: nothing on the page moves. Where the browser refuses, a dialog
 * has the text to be copied by hand.
 */
export function CopyButton({ text, label, words, where }: Props) {
  const [confirmedAt, setConfirmedAt] = useState<number>()
  const [refused, setRefused] = useState<string>()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (confirmedAt === undefined) return
    const ends = setTimeout(() => setConfirmedAt(undefined), CONFIRMED_MS)
    return () => clearTimeout(ends)
  }, [confirmedAt])
  useEffect(() => {
    if (refused !== undefined) dialog.current?.showModal()
  }, [refused])

  const copy = async () => {
    const wanted = text ?? location.href
    try {
      await navigator.clipboard.writeText(wanted)
      setConfirmedAt(performance.now())
    } catch {
      setRefused(wanted)
    }
  }
  const isConfirmed = confirmedAt !== undefined
  return (
    <span class="copy">
      <button type="button" class={isConfirmed ? 'confirmed' : undefined} aria-label={label} onClick={copy}>
        <span class="words">{words}</span>
        <span class="done" aria-hidden="true">
          ✓ Copied
        </span>
      </button>
      <span role="status" class="hidden">
        {isConfirmed ? `Copied${where ? `: it goes ${where}` : ''}` : ''}
      </span>
      {refused !== undefined && (
        <dialog ref={dialog} aria-label="Copy by hand" onClose={() => setRefused(undefined)}>
          <p>The browser does not let this page copy. Copy it from here{where ? `: it goes ${where}` : ''}.</p>
          <textarea readOnly rows={3} value={refused} onFocus={({ currentTarget }) => currentTarget.select()} />
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </dialog>
      )}
    </span>
  )
}
