import { jsonTokens } from './json-tokens.js'

/** Longer JSON is edited as it is, characters. */
export const MOST_SPREAD = 65_536

/** Valid JSON in lines, with its numbers and names as they are. */
export const spreadJson = (json: string): string =>
  jsonTokens(json)
    .map(({ text }) => text)
    .join('')

/** Valid JSON without the blanks between its parts. */
export const compactJson = (json: string): string =>
  json.replace(/("(?:\\.|[^"\\])*")|\s+/g, (_, string: string | undefined) => string ?? '')

/** Whether JSON has no blanks between its parts, so that no layout is lost when it is spread and put together again. */
export const isCompact = (json: string): boolean => json.length <= MOST_SPREAD && compactJson(json) === json
