import type { JSX } from 'preact'
import { keySigns } from '../model/key-signs.js'

/** A key, or a part of one, in which everything can be seen. */
export const KeyText = ({ name }: { readonly name: string }): JSX.Element => (
  <>
    {keySigns(name).map(({ at, text, sign }) =>
      sign ? (
        <span key={at} class="key-sign">
          {text}
        </span>
      ) : (
        text
      ),
    )}
  </>
)
