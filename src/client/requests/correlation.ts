import { randomBytes } from '../../core/util/random.js'

/** The official clients demand as many, bytes. */
const LENGTH = 16
const PLACE = 8
const NUMBER = 12

/** Correlation data (MQTT 5.0, section 3.3.2.3.6) of ours alone: random bytes, a request's place and its number. */
export class Correlation {
  readonly #origin = randomBytes(PLACE)

  /** @param place - and `number`: 32 bits of each count */
  encode(place: number, number: number): Uint8Array {
    const bytes = new Uint8Array(LENGTH)
    bytes.set(this.#origin)
    put(bytes, PLACE, place)
    put(bytes, NUMBER, number)
    return bytes
  }

  /** The place in correlation data; `undefined` when it is somebody else's. */
  placeOf(bytes: Uint8Array | undefined): number | undefined {
    if (bytes?.length !== LENGTH) return undefined
    for (let i = 0; i < PLACE; i++) if (bytes[i] !== this.#origin[i]) return undefined
    return read(bytes, PLACE)
  }

  /** Whether that is the number in it. */
  isNumber(bytes: Uint8Array | undefined, number: number): boolean {
    return bytes !== undefined && read(bytes, NUMBER) === number >>> 0
  }
}

function put(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

const read = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
