import { PacketError } from './packet-error.js'
import type { UserProperties } from './packets.js'
import type { PropertiesByName } from './publish.js'
import * as REASON from './reason-codes.js'

/** User properties by name, as they are put together. */
export type Named = Record<string, string | string[]>

// No name is special below it, `__proto__` neither; `Object.create(null)` itself would make slow objects.
const PROTOTYPE: object = Object.freeze(Object.create(null))

/** No user properties, shared. */
export const NO_USER_PROPERTIES: PropertiesByName = Object.freeze(Object.create(PROTOTYPE))

/** An object for user properties. */
export const newUserProperties = (): Named => Object.create(PROTOTYPE)

/** As many are read of one packet unless somebody says otherwise: each costs far more time and memory than its bytes. */
export const MOST_USER_PROPERTIES = 1_000

/** Throws when a packet has more user properties than are read. */
export function checkUserProperties(count: number, most: number): void {
  if (count > most) throw new PacketError(REASON.quotaExceeded, `A packet has more than ${most} user properties`)
}

/** Adds one; a name may come more than once (MQTT 5.0, section 3.3.2.3.7), and as often as the packet has room. */
export function addUserProperty(properties: Named, name: string, value: string): void {
  const before = properties[name]
  if (before === undefined) properties[name] = value
  else if (typeof before === 'string') properties[name] = [before, value]
  else before.push(value)
}

/** User properties by name, of a list. */
export function namedUserProperties(pairs: UserProperties): PropertiesByName {
  if (pairs.length === 0) return NO_USER_PROPERTIES
  const named = newUserProperties()
  for (const [name, value] of pairs) addUserProperty(named, name, value)
  return named
}
