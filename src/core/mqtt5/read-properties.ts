import type { Carried } from './carried.js'
import { malformed, protocolError } from './packet-error.js'
import type { Version } from './packets.js'
import { type Holder, type Properties, type Property, propertyOf } from './properties.js'
import * as PROPERTY from './property-ids.js'
import type { Reader } from './reader.js'
import { checkUserProperties } from './user-properties.js'

const NONE: Properties = Object.freeze({})

/** No user properties, shared. */
export const NO_PAIRS: readonly (readonly [string, string])[] = Object.freeze([])

/**
 * Reads the properties of a packet or of a will (MQTT 5.0, section 2.2.2); MQTT 3.1.1 has none. An identifier that is
 * unknown or has no place there is malformed (section 2.2.2.2), a property that comes twice a protocol error.
 *
 * @param carried - learns what is not passed on with a message
 */
export function readProperties(reader: Reader, version: Version, holder: Holder, carried?: Carried): Properties {
  const length = version === 4 ? 0 : reader.varint()
  carried?.begin(reader.at)
  if (length === 0) return NONE
  const outer = reader.end
  const end = reader.at + length
  if (end > outer) throw malformed('The properties run past the end of their packet')
  reader.end = end
  const read = new PropertiesReader(reader, holder)
  while (reader.at < end) read.next(carried)
  reader.end = outer
  return read.properties
}

class PropertiesReader {
  readonly properties: Properties = {}
  readonly #reader: Reader
  readonly #holder: Holder
  readonly #pairs: [string, string][] = []

  constructor(reader: Reader, holder: Holder) {
    this.#reader = reader
    this.#holder = holder
  }

  next(carried: Carried | undefined): void {
    const from = this.#reader.at
    const identifier = this.#reader.varint()
    const property = propertyOf(identifier, this.#holder)
    if (property === undefined) throw malformed(`A property ${identifier} has no place in ${this.#holder}`)
    this.#read(property)
    if (identifier === PROPERTY.messageExpiry || identifier === PROPERTY.willDelay) carried?.skip(from, this.#reader.at)
  }

  #read(property: Property): void {
    const { properties } = this
    if (property.type === 'pair') {
      checkUserProperties(this.#pairs.length + 1, this.#reader.mostUserProperties)
      this.#pairs.push([this.#reader.text(), this.#reader.text()])
      properties.userProperties = this.#pairs
      return
    }
    if (properties[property.name] !== undefined) throw protocolError(`${property.name} comes more than once`)
    if (property.type === 'text') properties[property.name] = this.#reader.text()
    else if (property.type === 'binary') properties[property.name] = this.#reader.binary()
    else if (property.type === 'flag') properties[property.name] = this.#number(property) === 1
    else properties[property.name] = this.#number(property)
  }

  #number(property: Property): number {
    const value = this.#digits(property.type)
    if ('positive' in property && value === 0) throw protocolError(`${property.name} is 0`)
    const boolean = property.type === 'bit' || property.type === 'flag'
    if (boolean && value > 1) throw protocolError(`${property.name} is ${value}, neither 0 nor 1`)
    return value
  }

  #digits(type: Property['type']): number {
    if (type === 'uint16') return this.#reader.uint16()
    if (type === 'uint32') return this.#reader.uint32()
    return type === 'varint' ? this.#reader.varint() : this.#reader.byte()
  }
}
