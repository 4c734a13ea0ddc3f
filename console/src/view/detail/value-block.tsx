import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { size } from '../../model/amount.js'
import { hexRows } from '../../model/hex-rows.js'
import { jsonTokens } from '../../model/json-tokens.js'
import { readable, type ValuePreview } from '../../model/value.js'

/** How much of a value is shown before somebody asks for more: characters of text, bytes of a dump. */
const FIRST_TEXT = 8_192
/** JSON beyond this is shown as it is, characters. */
const MOST_COLOURED = 16_384
const FIRST_BYTES = 512
/** What is shown at most; browsers do not like more in one piece, and people cannot read it. */
const MOST_TEXT = 65_536
const MOST_BYTES = 8_192

/** A value as a whole. */
export function ValueBlock({
  value,
  kind,
}: {
  readonly value: Uint8Array
  readonly kind: ValuePreview['kind']
}): JSX.Element {
  const [all, showAll] = useState(false)
  const text = kind === 'binary' ? undefined : (readable(value) ?? '')
  const long = text === undefined ? value.length > FIRST_BYTES : text.length > FIRST_TEXT
  const coloured = kind === 'json' && text !== undefined && text.length <= MOST_COLOURED
  const cut = text === undefined ? value.length > MOST_BYTES : value.length > MOST_TEXT
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and needs the keyboard for it */}
      <section class={`value-block value-${kind}`} aria-label="Value" tabIndex={0}>
        {text === undefined ? (
          <Dump bytes={value.subarray(0, all ? MOST_BYTES : FIRST_BYTES)} />
        ) : (
          <pre>{coloured ? <Json text={text} /> : text.slice(0, all ? MOST_TEXT : FIRST_TEXT)}</pre>
        )}
      </section>
      {long && !coloured && !all && (
        <button type="button" class="link" onClick={() => showAll(true)}>
          Show {cut ? 'more' : 'all'} of {size(value.length)}
        </button>
      )}
      {all && cut && <p class="hint">The beginning of {size(value.length)}; copy it to have it all.</p>}
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
