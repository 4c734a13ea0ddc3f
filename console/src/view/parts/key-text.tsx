import type { JSX } from 'preact'
import { keyPieces } from '../../model/key-pieces.js'

export const KeyText = ({ name }: { readonly name: string }): JSX.Element => (
  <>
    {keyPieces(name).map(({ at, text, isSymbol }) =>
      isSymbol ? (
        <span key={at} class="key-sign">
          {text}
        </span>
      ) : (
        text
      ),
    )}
  </>
)
