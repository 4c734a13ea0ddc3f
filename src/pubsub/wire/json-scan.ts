const SPACE = /[ \t\n\r]/

/**
 * The text of a top-level member that is a number, digit by digit as it was written, or `undefined` when the object
 * has no such member. Of several the last one counts, as for `JSON.parse`. The text must be an object that
 * `JSON.parse` took: nothing is checked again.
 *
 * @example
 * ```ts
 * numberText('{"sequenceId":9007199254740993}', 'sequenceId') // '9007199254740993'
 * ```
 */
export function numberText(text: string, name: string): string | undefined {
  let found: string | undefined
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    depth += nesting(char)
    if (char !== '"') continue
    const end = stringEnd(text, at)
    const colon = afterSpace(text, end)
    // Among the strings of the outermost object, only names are followed by a colon.
    if (depth === 1 && text[colon] === ':' && isName(text.slice(at, end), name)) found = wordAfter(text, colon)
    at = end - 1
  }
  return found
}

/** Whether arrays and objects of a JSON text are nested no deeper than `limit`. Takes time in proportion to its length. */
export function isNestedWithin(limit: number, text: string): boolean {
  // So short a text has no room for it: most messages end here.
  if (text.length <= limit) return true
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    depth += nesting(char)
    if (depth > limit) return false
    if (char === '"') at = stringEnd(text, at) - 1
  }
  return true
}

function nesting(char: string | undefined): number {
  if (char === '{' || char === '[') return 1
  return char === '}' || char === ']' ? -1 : 0
}

/** Where the text goes on after the string that begins at `start`; its length when the string has no end. */
function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (quote >= 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote < 0 ? text.length : quote + 1
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}

function afterSpace(text: string, start: number): number {
  let at = start
  while (SPACE.test(text[at] ?? '')) at++
  return at
}

// A name may be written with escapes: "sequence\u0049d".
const isName = (quoted: string, name: string): boolean =>
  quoted === `"${name}"` || (quoted.includes('\\') && JSON.parse(quoted) === name)

function wordAfter(text: string, colon: number): string {
  const start = afterSpace(text, colon + 1)
  let end = start
  while (/[-+.\w]/.test(text[end] ?? '')) end++
  return text.slice(start, end)
}
