import { isWellFormed } from '../../bytes.js'
import { ArgumentError, shown } from '../../errors.js'

const LONGEST_GROUP = 1024
const HUB_NAME = /^[A-Za-z][A-Za-z0-9_`,.[\]]{0,127}$/

/** Whether a group may be called so: 1 to 1024 characters, not blank, no half of a surrogate pair. */
export const isGroupName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= LONGEST_GROUP && name.trim().length > 0 && isWellFormed(name)

/** Whether a hub may be called so: a letter, then up to 127 letters, digits and any of ``_`,.[]``. */
export const isHubName = (name: string): boolean => HUB_NAME.test(name)

/** Hubs that differ in case only are the same. */
export const hubKey = (name: string): string => name.toLowerCase()

/** Throws {@link ArgumentError} for what is no group name. */
export function checkGroup(group: string): void {
  if (isGroupName(group)) return
  throw new ArgumentError(
    `Expected \`group\` to be 1 to ${LONGEST_GROUP} characters, not blank, got \`${shown(group).slice(0, 100)}\``,
  )
}

/** Throws {@link ArgumentError} for what is no hub name. */
export function checkHub(hub: string): void {
  if (typeof hub === 'string' && isHubName(hub)) return
  throw new ArgumentError(`Expected \`hub\` to match ${HUB_NAME}, got \`${shown(hub).slice(0, 100)}\``)
}
