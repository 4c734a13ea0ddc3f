import type { JSX } from 'preact'
import type { ValuePreview } from '../../model/value.js'

export const ValueLine = ({ preview }: { readonly preview: Pick<ValuePreview, 'kind' | 'line'> }): JSX.Element => (
  <span class={`value value-${preview.kind}`}>{preview.line}</span>
)
