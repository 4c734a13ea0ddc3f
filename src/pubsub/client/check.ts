import { ArgumentError, shown } from '../../errors.js'

/** Web PubSub takes group names of at most so many characters. */
const LONGEST_NAME = 1024

/** Throws {@link ArgumentError} for what cannot name a group or an event. */
export function checkName(what: string, name: string): void {
  if (typeof name === 'string' && name.trim() !== '' && name.length <= LONGEST_NAME) return
  const got = shown(name).slice(0, 80)
  throw new ArgumentError(`Expected the name of ${what}, 1 to ${LONGEST_NAME} characters, got \`${got}\``)
}
