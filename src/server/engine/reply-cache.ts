import { type Hlc, readHlc, writeHlc } from '../../core/hlc/hlc.js'
import type { Reply } from '../../core/protocol/replies.js'
import { SERVICE_ERRORS } from '../../core/protocol/service-errors.js'
import { ByteReader, ByteWriter } from '../../core/util/byte-codec.js'
import { toBinaryString, utf8 } from '../../core/util/bytes.js'
import { StringMap } from '../../core/util/string-map.js'
import type { Origin } from './entry.js'

export interface CachedReply {
  readonly reply: Reply
  readonly version: Hlc | undefined
}

const MAX_GENERATION_BYTES = 4 * 1024 * 1024

/**
 * Keeps the replies to recent writes, for clients that redeliver a request because they did not receive the reply.
 * Replies are kept as bytes, because short-lived objects would cost the garbage collector more than the write itself,
 * and are indexed only when a client redelivers. There are two generations. The older generation is dropped when the
 * younger generation is full.
 */
export class ReplyCache {
  #younger = new Generation()
  #older = new Generation()

  add(origin: Origin, now: number, reply: Reply, version: Hlc | undefined): void {
    if (this.#younger.bytes >= MAX_GENERATION_BYTES) {
      // The memory is reused, because frequent large allocations would keep the garbage collector busy.
      const reused = this.#older
      this.#older = this.#younger
      this.#younger = reused
      reused.clear()
    }
    this.#younger.add(origin, now, reply, version)
  }

  /** Returns the earlier reply to the same request at store time `now` (ms), if any. */
  find(origin: Origin, now: number): CachedReply | undefined {
    return this.#younger.find(origin, now) ?? this.#older.find(origin, now)
  }

  get bytes(): number {
    return this.#older.bytes + this.#younger.bytes
  }

  /** Returns a copy of both generations, the older generation first. */
  capture(): readonly [Uint8Array, Uint8Array] {
    return [new Uint8Array(this.#older.content), new Uint8Array(this.#younger.content)]
  }

  restore([older, younger]: readonly [Uint8Array, Uint8Array]): void {
    this.#older = new Generation(older)
    this.#younger = new Generation(younger)
  }
}

class Generation {
  readonly #writer = new ByteWriter()
  #positions = new StringMap<number>()
  /** The position up to which replies are in `#positions`. */
  #indexedTo = 0
  /** The last client id, cached because clients usually write several times in a row. */
  #lastClientId = ''
  #lastClientIdBytes = utf8('')

  constructor(bytes?: Uint8Array) {
    if (bytes !== undefined) this.#writer.raw(bytes)
  }

  get bytes(): number {
    return this.#writer.length
  }

  get content(): Uint8Array {
    return this.#writer.done()
  }

  clear(): void {
    this.#writer.reset()
    this.#positions = new StringMap()
    this.#indexedTo = 0
  }

  add({ clientId, correlationData, messageExpiry }: Origin, now: number, reply: Reply, version?: Hlc): void {
    const writer = this.#writer
    writer.blob(correlationData)
    if (clientId !== this.#lastClientId) {
      this.#lastClientId = clientId
      this.#lastClientIdBytes = utf8(clientId)
    }
    writer.blob(this.#lastClientIdBytes)
    writer.float64(messageExpiry === undefined ? Number.POSITIVE_INFINITY : now + 1_000 * messageExpiry)
    writer.uint8(reply.type === 'ok' ? 0 : REPLIES.findIndex(known => isSame(known, reply)))
    writeHlc(writer, version)
  }

  find({ clientId, correlationData }: Origin, now: number): CachedReply | undefined {
    this.#indexNew()
    const position = this.#positions.get(idOf(clientId, correlationData))
    if (position === undefined) return undefined
    const reader = new ByteReader(this.content, position)
    const [until, reply] = [reader.float64(), REPLIES[reader.uint8()]]
    return until <= now || reply === undefined ? undefined : { reply, version: readHlc(reader) }
  }

  #indexNew(): void {
    const reader = new ByteReader(this.content, this.#indexedTo)
    while (!reader.isAtEnd) {
      const correlationData = reader.blob()
      const id = idOf(reader.text(), correlationData)
      this.#positions.set(id, reader.offset)
      reader.float64()
      reader.uint8()
      readHlc(reader)
    }
    this.#indexedTo = reader.offset
  }
}

/** All replies to writes, encoded by their index here, with frequent replies first. Append new replies at the end. */
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
