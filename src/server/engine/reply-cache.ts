import { type Hlc, readHlc, writeHlc } from '../../core/hlc/hlc.js'
import type { Reply } from '../../core/protocol/replies.js'
import { SERVICE_ERRORS } from '../../core/protocol/service-errors.js'
import { ByteReader, ByteWriter } from '../../core/util/byte-codec.js'
import { toBinaryString, utf8 } from '../../core/util/bytes.js'
import { StringMap } from '../../core/util/string-map.js'
import type { Origin } from './entry.js'

/** What a write was answered. */
export interface Answered {
  readonly reply: Reply
  readonly version: Hlc | undefined
}

/** Of each of two generations. */
const MOST_BYTES = 4 * 1024 * 1024

/**
 * Answers to the last writes, for clients that ask again because they did not hear. They are kept as bytes: objects that
 * live for a second or two and then die cost the garbage collector more than the write itself. They are not looked at,
 * and they are not sorted, until somebody does ask again. There are two generations; when the younger is full, the older
 * is forgotten.
 */
export class ReplyCache {
  #younger = new Generation()
  #older = new Generation()

  note(origin: Origin, now: number, reply: Reply, version: Hlc | undefined): void {
    if (this.#younger.bytes >= MOST_BYTES) {
      // Their memory is used again: to allocate so much so often would keep the garbage collector busy.
      const forgotten = this.#older
      this.#older = this.#younger
      this.#younger = forgotten
      forgotten.clear()
    }
    this.#younger.note(origin, now, reply, version)
  }

  /** What a client was answered to the same request before, at store time `now` (ms). */
  find(origin: Origin, now: number): Answered | undefined {
    return this.#younger.find(origin, now) ?? this.#older.find(origin, now)
  }

  /** What {@link capture} gives, bytes. */
  get bytes(): number {
    return this.#older.bytes + this.#younger.bytes
  }

  /** Both generations, the older one first; they do not change any more. */
  capture(): readonly [Uint8Array, Uint8Array] {
    return [new Uint8Array(this.#older.all), new Uint8Array(this.#younger.all)]
  }

  /** Takes over what was captured. */
  restore([older, younger]: readonly [Uint8Array, Uint8Array]): void {
    this.#older = new Generation(older)
    this.#younger = new Generation(younger)
  }
}

class Generation {
  readonly #writer = new ByteWriter()
  /** Where the last answer of a client to some correlation data is. */
  #places = new StringMap<number>()
  /** Up to here it is known. */
  #known = 0
  /** One client mostly writes many times in a row. */
  #lastId = ''
  #lastIdBytes = utf8('')

  constructor(bytes?: Uint8Array) {
    if (bytes !== undefined) this.#writer.raw(bytes)
  }

  get bytes(): number {
    return this.#writer.length
  }

  get all(): Uint8Array {
    return this.#writer.done()
  }

  clear(): void {
    this.#writer.reset()
    this.#places = new StringMap()
    this.#known = 0
  }

  note({ clientId, correlationData, messageExpiry }: Origin, now: number, reply: Reply, version?: Hlc): void {
    const writer = this.#writer
    writer.blob(correlationData)
    if (clientId !== this.#lastId) {
      this.#lastId = clientId
      this.#lastIdBytes = utf8(clientId)
    }
    writer.blob(this.#lastIdBytes)
    writer.float64(messageExpiry === undefined ? Number.POSITIVE_INFINITY : now + 1_000 * messageExpiry)
    writer.uint8(reply.type === 'ok' ? 0 : REPLIES.findIndex(known => isSame(known, reply)))
    writeHlc(writer, version)
  }

  find({ clientId, correlationData }: Origin, now: number): Answered | undefined {
    this.#look()
    const place = this.#places.get(idOf(clientId, correlationData))
    if (place === undefined) return undefined
    const reader = new ByteReader(this.all, place)
    const [until, reply] = [reader.float64(), REPLIES[reader.uint8()]]
    return until <= now || reply === undefined ? undefined : { reply, version: readHlc(reader) }
  }

  #look(): void {
    const reader = new ByteReader(this.all, this.#known)
    while (!reader.ended) {
      const correlationData = reader.blob()
      const id = idOf(reader.text(), correlationData)
      this.#places.set(id, reader.place)
      reader.float64()
      reader.uint8()
      readHlc(reader)
    }
    this.#known = reader.place
  }
}

/** All that a write is answered; the frequent ones come first, and new ones have to come last. */
const REPLIES: readonly Reply[] = [
  { type: 'ok' },
  { type: 'refused' },
  { type: 'count', count: 1 },
  { type: 'count', count: 0 },
  ...(Object.keys(SERVICE_ERRORS) as (keyof typeof SERVICE_ERRORS)[]).map(code => ({ type: 'error', code }) as const),
]

function isSame(known: Reply, reply: Reply): boolean {
  if (known.type === 'count') return reply.type === 'count' && reply.count === known.count
  if (known.type === 'error') return reply.type === 'error' && reply.code === known.code
  return known.type === reply.type
}

const idOf = (clientId: string, correlationData: Uint8Array): string =>
  `${clientId.length}:${clientId}${toBinaryString(correlationData)}`
