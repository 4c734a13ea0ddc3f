export interface JsonToken {
  readonly type: 'name' | 'string' | 'number' | 'word' | 'mark'
  readonly text: string
  readonly at: number
}

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|([{}[\],])/g

/** Maximum number of indented levels, because the indentation of deeply nested arrays would take gigabytes. */
const MAX_INDENTED_LEVELS = 64

/**
 * Returns the tokens of valid JSON, pretty-printed with two spaces. Unlike parsing and stringifying, this preserves all
 * digits of numbers and duplicate names.
 */
export function jsonTokens(json: string): readonly JsonToken[] {
  const tokens: JsonToken[] = []
  let depth = 0
  let opened = false
  const add = (type: JsonToken['type'], text: string): void => {
    tokens.push({ type, text, at: tokens.length })
  }
  const mark = (text: string): void => add('mark', text)
  const line = (): string => `\n${'  '.repeat(Math.min(depth, MAX_INDENTED_LEVELS))}`
  for (const [, string, colon, number, word, sign = ''] of json.matchAll(TOKEN)) {
    if (sign === '}' || sign === ']') {
      depth--
      mark(opened ? sign : `${line()}${sign}`)
      opened = false
      continue
    }
    if (opened) mark(line())
    opened = sign === '{' || sign === '['
    if (opened) depth++
    if (opened) mark(sign)
    else if (sign === ',') mark(`,${line()}`)
    else if (number !== undefined) add('number', number)
    else if (word !== undefined) add('word', word)
    else if (string !== undefined) add(colon === undefined ? 'string' : 'name', string)
    if (colon !== undefined) mark(': ')
  }
  return tokens
}
