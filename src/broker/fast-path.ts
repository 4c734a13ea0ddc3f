import type { Duplex } from 'node:stream'
import { keepable, utf8 } from '../bytes.js'
import { Fifo } from '../fifo.js'
import { FrameReader, type FrameTaker } from '../packet/frame-reader.js'
import { FLAG, PACKET, PUBACK_SIZE, putPuback, startOfContent, uint16 } from '../packet/layout.js'
import { PublishDecoder } from '../packet/publish-decoder.js'
import type { AedesClient } from './aedes-client.js'
import type { BrokerConnection } from './connection.js'
import type { BrokerHandler } from './handler.js'
import type { Lane } from './lane.js'
import type { Outflow } from './outflow.js'
import type { Tap } from './tap.js'

/** While a client leaves so many bytes unread, its requests wait, and soon nothing is read from it. */
const MOST_UNSENT = 1024 * 1024
/** So many bytes of requests may wait for acknowledgements; these may be behind them. */
const MOST_DEFERRED = 1024 * 1024

/** A larger packet is left to aedes, bytes: it has a bound for the memory of its pieces. */
const LARGEST_FRAME = 1024 * 1024
/** What a packet that waits costs besides its bytes. */
const OVERHEAD = 100

const PINGRESP = new Uint8Array([PACKET.pingresp << 4, 0])

interface Deferred {
  readonly bytes: Uint8Array
  /** Whether it is one whole packet. */
  readonly whole: boolean
}

/** What belongs to one connection. */
export interface Paths {
  readonly connection: BrokerConnection
  readonly aedes: AedesClient
  readonly lane: Lane
  readonly outflow: Outflow
  readonly tap: Tap
}

/**
 * Reads a connection before aedes does, and takes the two packets that are nearly all of what a busy client sends:
 * requests to the handler, and acknowledgements of what came back. aedes spends ten times as much on them as the handler.
 * Everything else, and everything that is not as it should be, is left to aedes, byte for byte. While aedes is at work on
 * something, all is left to it, so that nothing overtakes.
 */
export class FastPath implements FrameTaker {
  readonly #paths: Paths
  readonly #handler: BrokerHandler
  readonly #topicSize: number
  readonly #frames: FrameReader
  /** What came while the client had too much to read. */
  readonly #deferred = new Fifo<Deferred>()
  #deferredBytes = 0
  #decoder: PublishDecoder | undefined
  #alive = false
  #responseTopic: string | undefined

  /** @param maximumPacketSize - bytes; larger ones are left to aedes, which refuses them */
  constructor(paths: Paths, handler: BrokerHandler, maximumPacketSize: number) {
    this.#paths = paths
    this.#handler = handler
    this.#topicSize = utf8(handler.topic).length
    this.#frames = new FrameReader(this, Math.min(maximumPacketSize, LARGEST_FRAME))
  }

  /** Reads the connection from now on. */
  attach(stream: Duplex): void {
    const { lane } = this.#paths
    stream.on('data', (chunk: Uint8Array) => this.read(chunk))
    stream.on('end', () => this.end())
    stream.on('error', error => lane.destroy(error))
    // After an end it is aedes that closes, when it has read everything.
    stream.on('close', () => {
      if (!stream.readableEnded) lane.destroy()
    })
  }

  /** Takes what came over the network. */
  read(chunk: Uint8Array): void {
    const { aedes, outflow } = this.#paths
    outflow.hold()
    for (const rest of this.#frames.read(chunk)) this.#leave(rest)
    this.#release()
    outflow.flush()
    if (this.#alive) aedes.keepAlive()
    this.#alive = false
  }

  /** The client sends no more. */
  end(): void {
    const { lane, outflow } = this.#paths
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#handle(next)
      outflow.flush()
    }
    lane.push(null)
  }

  /** The network has taken what it had. */
  taken(): void {
    const { lane, outflow } = this.#paths
    lane.taken()
    outflow.hold()
    this.#release()
    outflow.flush()
  }

  wants(type: number): boolean {
    const { aedes, connection } = this.#paths
    // Of what was sent again before aedes was ready.
    if (type === PACKET.puback) return connection.session !== undefined
    return aedes.ready && (type === PACKET.publish || this.#defers)
  }

  take(frame: Uint8Array, behind: boolean): boolean {
    const type = (frame[0] ?? 0) >> 4
    const taken =
      type === PACKET.puback
        ? this.#acknowledged(frame)
        : !behind && (this.#defers ? this.#wait(frame, type) : this.#request(frame, type))
    this.#alive ||= taken
    return taken
  }

  get #defers(): boolean {
    return this.#deferred.length > 0 || this.#held
  }

  get #held(): boolean {
    const { outflow, connection } = this.#paths
    if (outflow.unsent > MOST_UNSENT) return true
    return connection.session?.strained === true && this.#deferredBytes < MOST_DEFERRED
  }

  #acknowledged(frame: Uint8Array): boolean {
    const at = startOfContent(frame)
    const size = frame.length - at
    if (frame[0] !== PACKET.puback << 4 || size < 2) return false
    const known = this.#paths.connection.session?.acknowledge(uint16(frame, at)) ?? false
    // Reasons and properties are for aedes to check; the id says nothing to it.
    return known && (size === 2 || (size <= 4 && frame[at + 2] === 0 && (frame[at + 3] ?? 0) === 0))
  }

  #request(frame: Uint8Array, type: number = (frame[0] ?? 0) >> 4): boolean {
    const { aedes, connection, outflow } = this.#paths
    const mine = type === PACKET.publish && ((frame[0] ?? 0) & (FLAG.qos | FLAG.retain)) === FLAG.qos1
    if (!mine || uint16(frame, startOfContent(frame)) !== this.#topicSize) return false
    if (!aedes.ready || !aedes.idle || connection.session === undefined) return false
    this.#decoder ??= new PublishDecoder()
    const message = this.#decoder.decode(frame)
    if (message?.topic !== this.#handler.topic || this.#hasWildcard(message.responseTopic)) return false
    if (this.#handler.refuse(connection, message) !== undefined) return false
    putPuback(outflow.room(PUBACK_SIZE), message.packetId)
    this.#handler.take(connection, message)
    return true
  }

  /** Ends the connection, with aedes (MQTT 5.0, section 3.3.2.3.5). */
  #hasWildcard(responseTopic: string | undefined): boolean {
    if (responseTopic === undefined || responseTopic === this.#responseTopic) return false
    if (responseTopic.includes('#') || responseTopic.includes('+')) return true
    this.#responseTopic = responseTopic
    return false
  }

  /** A client whose requests wait shall not take us for dead. */
  #wait(frame: Uint8Array, type: number): boolean {
    if (type === PACKET.pingreq && frame.length === PINGRESP.length) this.#paths.outflow.write(PINGRESP)
    else this.#defer(frame, true)
    return true
  }

  #defer(bytes: Uint8Array, whole: boolean): void {
    this.#deferred.push({ bytes: keepable(bytes), whole })
    this.#deferredBytes += bytes.length + OVERHEAD
  }

  #leave(bytes: Uint8Array): void {
    if (this.#paths.aedes.ready && this.#defers) this.#defer(bytes, false)
    else this.#paths.lane.feed(bytes)
  }

  /** Goes on with what waits, as far as the client can take it. */
  #release(): void {
    const { outflow, tap } = this.#paths
    while (this.#deferred.length > 0 && !this.#held) {
      const next = this.#next()
      if (next !== undefined) this.#handle(next)
    }
    if (outflow.unsent > MOST_UNSENT) tap.close('requests')
    else tap.open('requests')
  }

  #next(): Deferred | undefined {
    const next = this.#deferred.shift()
    if (next) this.#deferredBytes -= next.bytes.length + OVERHEAD
    return next
  }

  #handle({ bytes, whole }: Deferred): void {
    if (!whole || !this.#request(bytes)) this.#paths.lane.feed(bytes)
  }
}
