import type { ComponentChildren, JSX } from 'preact'

interface PartProps {
  readonly title: string
  readonly hint: string
  readonly children?: ComponentChildren
}

/** A part of the page about the store. */
export const Card = ({ title, hint, children }: PartProps): JSX.Element => (
  <section class="card" aria-label={title}>
    <h2>{title}</h2>
    <p class="hint">{hint}</p>
    {children}
  </section>
)

/** What can be done, and its buttons. */
export const Deed = ({ title, hint, children }: PartProps): JSX.Element => (
  <div class="deed">
    <h3>{title}</h3>
    <p class="hint">{hint}</p>
    <div class="deed-buttons">{children}</div>
  </div>
)
