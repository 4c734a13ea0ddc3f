import { randomBytes } from '../../core/util/bytes.js'

/** Length of correlation data, bytes. The official clients require this length. */
const CORRELATION_BYTES = 16
const SLOT_OFFSET = 8
const NUMBER_OFFSET = 12

/**
 * Correlation data (MQTT 5.0, section 3.3.2.3.6): random bytes of this client, and the slot and number of a request.
 */
export class Correlation {
  readonly #origin = randomBytes(SLOT_OFFSET)

  encode(slot: number, number: number): Uint8Array {
    const bytes = new Uint8Array(CORRELATION_BYTES)
    bytes.set(this.#origin)
    writeUint32(bytes, SLOT_OFFSET, slot)
    writeUint32(bytes, NUMBER_OFFSET, number)
    return bytes
  }

  /** Returns the slot, or `undefined` for another client's correlation data. */
  slotOf(bytes: Uint8Array | undefined): number | undefined {
    if (bytes?.length !== CORRELATION_BYTES) return undefined
    for (let i = 0; i < SLOT_OFFSET; i++) if (bytes[i] !== this.#origin[i]) return undefined
    return readUint32(bytes, SLOT_OFFSET)
  }

  hasNumber(bytes: Uint8Array | undefined, number: number): boolean {
    return bytes !== undefined && readUint32(bytes, NUMBER_OFFSET) === number >>> 0
  }
}

function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

const readUint32 = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
