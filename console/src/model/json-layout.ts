import { jsonTokens } from './json-tokens.js'

/** Maximum length of JSON that is pretty-printed for editing. */
export const MAX_PRETTY_CHARS = 65_536

export const prettyJson = (json: string): string =>
  jsonTokens(json)
    .map(({ text }) => text)
    .join('')

export const compactJson = (json: string): string =>
  json.replace(/("(?:\\.|[^"\\])*")|\s+/g, (_, string: string | undefined) => string ?? '')

/**
 * Returns whether a JSON text has no insignificant whitespace, so that pretty-printing and compacting restore it
 * exactly.
 */
export const isCompact = (json: string): boolean => json.length <= MAX_PRETTY_CHARS && compactJson(json) === json
