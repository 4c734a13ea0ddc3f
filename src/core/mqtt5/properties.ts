import { concatBytes } from '../util/bytes.js'
import { viewOf } from './data-types.js'
import { PacketError } from './packet-error.js'
import type { PropertiesByName, UserProperties } from './packets.js'
import * as REASON from './reason-codes.js'

// Property identifiers (MQTT 5.0, section 2.2.2.2). They are separate exports, so that a client bundles only the ones
// it uses.

export const payloadFormat = 0x01
export const messageExpiry = 0x02
export const contentType = 0x03
export const responseTopic = 0x08
export const correlationData = 0x09
export const subscriptionId = 0x0b
export const sessionExpiry = 0x11
export const assignedClientId = 0x12
export const serverKeepAlive = 0x13
export const authenticationMethod = 0x15
export const authenticationData = 0x16
export const requestProblemInformation = 0x17
export const willDelay = 0x18
export const requestResponseInformation = 0x19
export const responseInformation = 0x1a
export const serverReference = 0x1c
export const reasonString = 0x1f
export const receiveMaximum = 0x21
export const topicAliasMaximum = 0x22
export const topicAlias = 0x23
export const maximumQos = 0x24
export const retainAvailable = 0x25
export const userProperties = 0x26
export const maximumPacketSize = 0x27
export const wildcardSubscriptionAvailable = 0x28
export const subscriptionIdsAvailable = 0x29
export const sharedSubscriptionAvailable = 0x2a

export type MutableProperties = Record<string, string | string[]>

// With this prototype no name is special, not even `__proto__`. `Object.create(null)` alone would create slow objects.
const PROTOTYPE: object = Object.freeze(Object.create(null))

export const NO_USER_PROPERTIES: PropertiesByName = Object.freeze(Object.create(PROTOTYPE))

export const newUserProperties = (): MutableProperties => Object.create(PROTOTYPE)

export function checkUserProperties(count: number, limit: number): void {
  if (count > limit) throw new PacketError(REASON.quotaExceeded, `A packet has more than ${limit} user properties`)
}

/** Adds a user property. A name may repeat, up to the packet's limit (MQTT 5.0, section 3.3.2.3.7). */
export function addUserProperty(properties: MutableProperties, name: string, value: string): void {
  const before = properties[name]
  if (before === undefined) properties[name] = value
  else if (typeof before === 'string') properties[name] = [before, value]
  else before.push(value)
}

export function namedUserProperties(pairs: UserProperties): PropertiesByName {
  if (pairs.length === 0) return NO_USER_PROPERTIES
  const named = newUserProperties()
  for (const [name, value] of pairs) addUserProperty(named, name, value)
  return named
}

const NO_BYTES = new Uint8Array(0)

/**
 * Collects the properties forwarded with a message: a view if they are contiguous, otherwise a copy. One object is
 * reused for successive blocks.
 */
export class ForwardedProperties {
  #from = 0
  #pieces: [from: number, to: number][] | undefined

  begin(at: number): void {
    this.#from = at
    this.#pieces = undefined
  }

  skip(from: number, to: number): void {
    if (from > this.#from) {
      this.#pieces ??= []
      this.#pieces.push([this.#from, from])
    }
    this.#from = to
  }

  /** Returns all properties except the skipped ones. @param end - end of the block */
  of(bytes: Uint8Array, end: number): Uint8Array {
    const last = end > this.#from ? viewOf(bytes, this.#from, end) : NO_BYTES
    if (this.#pieces === undefined) return last
    const pieces = this.#pieces.map(([from, to]) => viewOf(bytes, from, to))
    const [only] = pieces
    return only !== undefined && pieces.length === 1 && last.length === 0 ? only : concatBytes([...pieces, last])
  }
}
