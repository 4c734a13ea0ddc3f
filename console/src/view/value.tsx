import type { JSX } from 'preact'
import type { ValuePreview } from '../model/value.js'

/** A value in a line. */
export const ValueLine = ({ shown }: { readonly shown: Pick<ValuePreview, 'kind' | 'line'> }): JSX.Element => (
  <span class={`value value-${shown.kind}`}>{shown.line}</span>
)
