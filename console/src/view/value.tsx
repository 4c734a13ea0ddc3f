import type { JSX } from 'preact'
import type { ValuePreview } from '../model/value.js'

export const ValueLine = ({ shown: preview }: { readonly shown: Pick<ValuePreview, 'kind' | 'line'> }): JSX.Element => (
  <span class={`value value-${preview.kind}`}>{preview.line}</span>
)
