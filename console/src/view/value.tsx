import type { JSX } from 'preact'
import type { Shown } from '../model/value.js'

/** A value in a line. */
export const ValueLine = ({ shown }: { readonly shown: Pick<Shown, 'kind' | 'line'> }): JSX.Element => (
  <span class={`value value-${shown.kind}`}>{shown.line}</span>
)
