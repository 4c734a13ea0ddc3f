export interface KeyPiece {
  readonly at: number
  readonly text: string
  /** Whether the piece is a symbol that replaces an invisible character. */
  readonly isSymbol: boolean
}

/** Matches leading and trailing spaces, control characters, line breaks and bidirectional controls. */
const INVISIBLE = /(^ +| +$|[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff])/u
const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Splits a key into plain text and symbols for invisible characters. */
export const keyPieces = (name: string): readonly KeyPiece[] =>
  name
    .split(INVISIBLE)
    .map((text, at) => (at % 2 === 1 ? { at, text: symbolFor(text), isSymbol: true } : { at, text, isSymbol: false }))
    .filter(({ text }) => text !== '')

/** Returns a key with symbols for invisible characters. */
export const visibleKey = (name: string): string =>
  keyPieces(name)
    .map(({ text }) => text)
    .join('')

function symbolFor(invisible: string): string {
  if (invisible.startsWith(' ')) return '·'.repeat(invisible.length)
  return ESCAPES[invisible] ?? `\\u${invisible.charCodeAt(0).toString(16).padStart(4, '0')}`
}
