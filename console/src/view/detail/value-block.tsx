import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { formatBytes } from '../../model/amount.js'
import { hexRows } from '../../model/hex-rows.js'
import { jsonTokens } from '../../model/json-tokens.js'
import { decodeReadable, type ValuePreview } from '../../model/value.js'

/** Number of characters of text, or bytes of a hex dump, that are shown initially. */
const INITIAL_CHARS = 8_192
/** Maximum length of JSON that is highlighted, characters. */
const MAX_HIGHLIGHTED_CHARS = 16_384
const INITIAL_BYTES = 512
/** Maximum number of characters, or bytes, that are shown. More would slow browsers down and would not be readable. */
const MAX_CHARS = 65_536
const MAX_BYTES = 8_192

export function ValueBlock({
  value,
  kind,
}: {
  readonly value: Uint8Array
  readonly kind: ValuePreview['kind']
}): JSX.Element {
  const [isExpanded, setIsExpanded] = useState(false)
  const text = kind === 'binary' ? undefined : (decodeReadable(value) ?? '')
  const isLong = text === undefined ? value.length > INITIAL_BYTES : text.length > INITIAL_CHARS
  const isHighlighted = kind === 'json' && text !== undefined && text.length <= MAX_HIGHLIGHTED_CHARS
  const isTruncated = text === undefined ? value.length > MAX_BYTES : value.length > MAX_CHARS
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it must scroll by keyboard */}
      <section class={`value-block value-${kind}`} aria-label="Value" tabIndex={0}>
        {text === undefined ? (
          <Dump bytes={value.subarray(0, isExpanded ? MAX_BYTES : INITIAL_BYTES)} />
        ) : (
          <pre>{isHighlighted ? <Json text={text} /> : text.slice(0, isExpanded ? MAX_CHARS : INITIAL_CHARS)}</pre>
        )}
      </section>
      {isLong && !isHighlighted && !isExpanded && (
        <button type="button" class="link" onClick={() => setIsExpanded(true)}>
          Show {isTruncated ? 'more of' : 'all'} {formatBytes(value.length)}
        </button>
      )}
      {isExpanded && isTruncated && (
        <p class="hint">Truncated from {formatBytes(value.length)}; copy it for the full value.</p>
      )}
    </>
  )
}

const Json = ({ text }: { readonly text: string }): JSX.Element => (
  <>
    {jsonTokens(text).map(token => (
      <span key={token.at} class={`json-${token.type}`}>
        {token.text}
      </span>
    ))}
  </>
)

const Dump = ({ bytes }: { readonly bytes: Uint8Array }): JSX.Element => (
  <pre>
    {hexRows(bytes).map(row => (
      <span key={row.offset} class="dump-row">
        <span class="dump-offset">{row.offset}</span>
        <span class="dump-bytes">{row.bytes}</span>
        <span class="dump-text">{row.text}</span>
        {'\n'}
      </span>
    ))}
  </pre>
)
