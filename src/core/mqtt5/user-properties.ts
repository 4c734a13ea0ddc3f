import { utf8 } from '../util/bytes.js'
import { ArgumentError } from '../util/errors.js'

const MAX_TEXT_BYTES = 65_535
/** NUL and lone surrogates are malformed; brokers may also reject the other characters (MQTT 5.0, section 1.5.4). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{NChar}]/u

const isText = (text: unknown): text is string =>
  typeof text === 'string' &&
  text.length <= MAX_TEXT_BYTES &&
  utf8(text).length <= MAX_TEXT_BYTES &&
  !FORBIDDEN.test(text)

/**
 * Returns a function that copies the user properties that MQTT can send, and drops the others. The first one that is
 * dropped is reported, once.
 */
export function userPropertyFilter(
  report: (error: ArgumentError) => void,
): (properties: Readonly<Record<string, unknown>>) => Record<string, string> {
  let isReported = false
  return properties => {
    const valid: [name: string, value: string][] = []
    for (const [name, value] of Object.entries(properties)) {
      if (isText(name) && isText(value)) valid.push([name, value])
      else if (!isReported) {
        isReported = true
        report(
          new ArgumentError(
            `The user property ${JSON.stringify(name.slice(0, 64))} is not sent: set a string of at most ${MAX_TEXT_BYTES} bytes without control characters`,
          ),
        )
      }
    }
    return Object.fromEntries(valid)
  }
}
