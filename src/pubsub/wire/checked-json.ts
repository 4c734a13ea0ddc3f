import { JsonScanner } from './json-scanner.js'
import { JsonText } from './json-text.js'
import { MAXIMUM_NESTING } from './nesting.js'

/** Checks that a text is JSON. Raises an error that says what is wrong with it. */
export function checkedJson(text: string): JsonText {
  const scanner = new JsonScanner(text, MAXIMUM_NESTING)
  scanner.value()
  scanner.end()
  return new JsonText(text)
}

/**
 * Members of a JSON object, without building more than that: arrays and objects stay {@link JsonText}. Of several members
 * with the same name the last one counts, as for `JSON.parse`. Raises an error that says what is wrong.
 *
 * @param names - of the members that are wanted
 */
export function shallowMembers(text: string, names: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  const scanner = new JsonScanner(text, MAXIMUM_NESTING)
  const members: Record<string, unknown> = {}
  scanner.object(quoted => {
    const start = scanner.at
    scanner.value()
    const name: unknown = quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1)
    if (typeof name === 'string' && names.has(name)) members[name] = shallowValue(text.slice(start, scanner.at))
  })
  scanner.end()
  return members
}

const shallowValue = (text: string): unknown => (/^[{[]/.test(text) ? new JsonText(text) : JSON.parse(text))
