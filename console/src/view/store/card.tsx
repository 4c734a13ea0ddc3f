import type { ComponentChildren, JSX } from 'preact'

interface CardProps {
  readonly title: string
  readonly hint: string
  readonly children?: ComponentChildren
}

export const Card = ({ title, hint, children }: CardProps): JSX.Element => (
  <section class="card" aria-label={title}>
    <h2>{title}</h2>
    <p class="hint">{hint}</p>
    {children}
  </section>
)

export const Action = ({ title, hint, children }: CardProps): JSX.Element => (
  <div class="deed">
    <h3>{title}</h3>
    <p class="hint">{hint}</p>
    <div class="deed-buttons">{children}</div>
  </div>
)
