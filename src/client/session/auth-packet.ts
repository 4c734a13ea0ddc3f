import { concatBytes, utf8 } from '../../core/util/bytes.js'

const AUTH = 0xf0
/** MQTT 5.0, section 3.15.2.1 */
const REAUTHENTICATE = 0x19
const METHOD = 0x15
const DATA = 0x16

/** An AUTH packet by which a client proves anew who it is (MQTT 5.0, section 4.12.1). */
export function reauthenticationOf(method: string, data: Uint8Array): Uint8Array {
  const properties = concatBytes([field(METHOD, utf8(method)), field(DATA, data)])
  const content = concatBytes([Uint8Array.of(REAUTHENTICATE, ...varint(properties.length)), properties])
  return concatBytes([Uint8Array.of(AUTH, ...varint(content.length)), content])
}

const field = (identifier: number, bytes: Uint8Array): Uint8Array =>
  concatBytes([Uint8Array.of(identifier, bytes.length >> 8, bytes.length & 0xff), bytes])

/** MQTT 5.0, section 1.5.5 */
const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)])
