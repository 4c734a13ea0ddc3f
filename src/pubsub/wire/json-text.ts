import { toJson } from './outgoing.js'

/**
 * A JSON value as the text it is written in. Wherever a hub writes JSON this text goes out character by character, so that
 * what is only passed on stays what it was: digits beyond what a number holds, the order of members, spaces.
 *
 * @example
 * ```ts
 * new JsonText('12345678901234567890').value // 12345678901234567000, as JavaScript has it
 * ```
 */
export class JsonText {
  readonly text: string

  /** @param text - JSON; must have been checked to be */
  constructor(text: string) {
    this.text = text
  }

  /** What `JSON.parse` makes of it, anew each time. */
  get value(): unknown {
    return JSON.parse(this.text)
  }
}

/** JSON text of a value; that of {@link JsonText} as it is. Raises {@link ArgumentError} for what has none. */
export const jsonOf = (value: unknown): string => (value instanceof JsonText ? value.text : toJson(value))
