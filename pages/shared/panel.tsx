import type { ComponentChildren } from 'preact'

interface PanelProps {
  /** Also the panel's anchor. */
  readonly id: string
  readonly title: string
  readonly about?: ComponentChildren
  readonly children: ComponentChildren
}

/** A part of a page with a heading. */
export function Panel({ id, title, about, children }: PanelProps) {
  return (
    <section class="panel" id={id} aria-labelledby={`${id}-title`}>
      <header>
        <h2 id={`${id}-title`}>{title}</h2>
        {about && <p>{about}</p>}
      </header>
      {children}
    </section>
  )
}
