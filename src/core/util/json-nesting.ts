const QUOTE = 0x22
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * The maximum nesting of JSON. `JSON.parse` accepts any depth, but `JSON.stringify` and other functions that call
 * themselves do not. Without a limit, a publisher or writer could send data that ends the programs of its readers.
 */
export const MAX_NESTING = 512

export const TOO_DEEP = `nested deeper than ${MAX_NESTING} levels`

/** Returns whether a JSON text is nested at most `limit` levels deep. Takes linear time. */
export const isNestedWithin = (limit: number, text: string): boolean =>
  // Most messages are too short to exceed the limit.
  text.length <= limit || findToken(text, 0, (_, depth) => depth > limit) === text.length

/**
 * Returns the index of the first character outside of strings for which `isWanted` returns true, or the text's length.
 * Does not validate the text, and takes linear time.
 *
 * @param isWanted - called with each character code and its depth, which is relative to the start; an opening bracket
 * is within its container, a closing one is not
 */
export function findToken(text: string, start: number, isWanted: (code: number, depth: number) => boolean): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    if (isWanted(code, depth)) return at
    if (code === QUOTE) at = stringEnd(text, at) - 1
  }
  return text.length
}

/** Returns the index after the string that begins at `start`, or the text's length if the string is unterminated. */
function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote < 0 ? text.length : quote + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}
