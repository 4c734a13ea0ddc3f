import { isWellFormed } from '../../core/util/bytes.js'
import { ArgumentError, shown } from '../../core/util/errors.js'

/** Most characters (UTF-16 code units) of the name of a group or an event. */
export const LONGEST_NAME = 1024
const HUB_NAME = /^[A-Za-z][A-Za-z0-9_`,.[\]]{0,127}$/

/**
 * Whether a group or an event may be called so: 1 to 1024 characters, not blank, and no half of a surrogate pair. (JSON
 * subprotocol reference; service limits.)
 */
export const isName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= LONGEST_NAME && name.trim() !== '' && isWellFormed(name)

/** Throws {@link ArgumentError} for what cannot name a group or an event. */
export function checkName(what: 'group' | 'event', name: string): void {
  if (isName(name)) return
  const got = shown(name).slice(0, 80)
  throw new ArgumentError(
    `Expected the name of the ${what}, 1 to ${LONGEST_NAME} characters, not blank, got \`${got}\``,
  )
}

/** Whether a hub may be called so: a letter, then up to 127 letters, digits and any of ``_`,.[]``. */
export const isHubName = (name: unknown): name is string => typeof name === 'string' && HUB_NAME.test(name)

/** Hubs that differ in case only are the same. */
export const hubKey = (name: string): string => name.toLowerCase()

/** Throws {@link ArgumentError} for what cannot name a hub. */
export function checkHub(hub: string): void {
  if (isHubName(hub)) return
  throw new ArgumentError(`Expected the name of the hub to match ${HUB_NAME}, got \`${shown(hub).slice(0, 80)}\``)
}
