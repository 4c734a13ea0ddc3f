/** A piece of a key. */
export interface Piece {
  /** Its place among the pieces. */
  readonly at: number
  readonly text: string
  /** Whether it stands for what cannot be seen. */
  readonly sign: boolean
}

/** Spaces at an end, and what moves the text around it: controls, line ends, directions of writing. */
const UNSEEN = /(^ +| +$|[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff])/u
const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A key with signs for what cannot be seen in it. */
export const keySigns = (name: string): readonly Piece[] =>
  name
    .split(UNSEEN)
    .map((text, at) => (at % 2 === 1 ? { at, text: signFor(text), sign: true } : { at, text, sign: false }))
    .filter(({ text }) => text !== '')

/** The same without colours. */
export const keyLine = (name: string): string =>
  keySigns(name)
    .map(({ text }) => text)
    .join('')

function signFor(unseen: string): string {
  if (unseen.startsWith(' ')) return '·'.repeat(unseen.length)
  return NAMES[unseen] ?? `\\u${unseen.charCodeAt(0).toString(16).padStart(4, '0')}`
}
