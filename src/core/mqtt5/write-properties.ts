import { putVarint, sizeOfVarint } from './layout.js'
import { type Holder, type Properties, type Property, propertiesIn } from './properties.js'
import * as PROPERTY from './property-ids.js'
import type { Writer } from './writer.js'

/** Writes those properties that the holder may have (MQTT 5.0, section 2.2.2), with their length. */
export function writeProperties(writer: Writer, holder: Holder, properties: Properties): void {
  const start = writer.at
  for (const property of propertiesIn(holder)) writeProperty(writer, property, properties[property.name])
  const length = writer.at - start
  const size = sizeOfVarint(length)
  writer.reserve(size)
  writer.bytes.copyWithin(start + size, start, writer.at)
  putVarint(writer.bytes, start, length)
  writer.at += size
}

function writeProperty(writer: Writer, property: Property, value: Properties[Property['name']]): void {
  if (value === undefined) return
  if (typeof value !== 'object' || value instanceof Uint8Array) writer.byte(property.id)
  if (typeof value === 'string') writer.text(value)
  else if (typeof value === 'boolean') writer.byte(Number(value))
  else if (typeof value === 'number') writeNumber(writer, property.type, value)
  else if (value instanceof Uint8Array) writer.binary(value)
  else {
    for (const [name, text] of value) {
      writer.byte(PROPERTY.userProperties)
      writer.text(name)
      writer.text(text)
    }
  }
}

function writeNumber(writer: Writer, type: Property['type'], value: number): void {
  if (type === 'uint16') writer.uint16(value)
  else if (type === 'uint32') writer.uint32(value)
  else if (type === 'varint') writer.varint(value)
  else writer.byte(value)
}
