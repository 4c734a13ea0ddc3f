const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * The text of the value of a top-level member, character by character as it was written, without the white space around
 * it; `undefined` when the object has no such member. Of several the last one counts, as for `JSON.parse`. The text must
 * be an object that `JSON.parse` took: nothing is checked again. Takes time in proportion to its length.
 *
 * @example
 * ```ts
 * memberText('{"sequenceId":9007199254740993}', 'sequenceId') // '9007199254740993'
 * ```
 */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined
  for (let at = afterSpace(text, text.indexOf('{') + 1); text.charCodeAt(at) === QUOTE; ) {
    const end = stringEnd(text, at)
    const start = afterSpace(text, afterSpace(text, end) + 1)
    const next = valueEnd(text, start)
    if (isName(text.slice(at, end), name)) found = text.slice(start, beforeSpace(text, next))
    at = afterSpace(text, next + 1)
  }
  return found
}

/** Whether arrays and objects of a JSON text are nested no deeper than `limit`. Takes time in proportion to its length. */
export function isNestedWithin(limit: number, text: string): boolean {
  // So short a text has no room for it: most messages end here.
  if (text.length <= limit) return true
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    depth += nesting(code)
    if (depth > limit) return false
    if (code === QUOTE) at = stringEnd(text, at) - 1
  }
  return true
}

/** Where the comma or the bracket after a value is. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (depth === 0 && (code === COMMA || code === CLOSE_OBJECT)) return at
    depth += nesting(code)
    if (code === QUOTE) at = stringEnd(text, at) - 1
  }
  return text.length
}

function nesting(code: number): number {
  if (code === OPEN_OBJECT || code === OPEN_ARRAY) return 1
  return code === CLOSE_OBJECT || code === CLOSE_ARRAY ? -1 : 0
}

/** Where the text goes on after the string that begins at `start`; its length when the string has no end. */
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

function afterSpace(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function beforeSpace(text: string, end: number): number {
  let at = end
  while (isSpace(text.charCodeAt(at - 1))) at--
  return at
}

/** Space, line feed, carriage return and tab (RFC 8259, section 2). */
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

// A name may be written with escapes: "sequence\u0049d".
const isName = (quoted: string, name: string): boolean =>
  quoted === `"${name}"` || (quoted.includes('\\') && JSON.parse(quoted) === name)
