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
export function isNestedWithin(limit: number, text: string): boolean {
  // Most messages are too short to exceed the limit.
  if (text.length <= limit) return true
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    depth += nestingChange(code)
    if (depth > limit) return false
    if (code === QUOTE) at = stringEnd(text, at) - 1
  }
  return true
}

export function nestingChange(code: number): number {
  if (code === OPEN_OBJECT || code === OPEN_ARRAY) return 1
  return code === CLOSE_OBJECT || code === CLOSE_ARRAY ? -1 : 0
}

/** Returns the index after the string that begins at `start`, or the text's length if the string is unterminated. */
export function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote < 0 ? text.length : quote + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}
