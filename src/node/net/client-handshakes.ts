import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type Server, TLSSocket } from 'node:tls'
import { type Clock, systemClock } from '../../core/util/clock.js'
import { Timer } from '../../core/util/timer.js'
import { networkOf } from '../limits/network.js'
import { KeyedRateLimiter, type RateLimiter } from '../limits/rate.js'

/** Maximum number of bytes that a client sends in a handshake. A chain of three certificates has 2 to 8 KiB. */
export const MAX_HANDSHAKE_BYTES = 32 * 1024
/**
 * Processing time in ms per second for handshakes of one address that end without a trusted certificate. OpenSSL checks
 * every signature of a chain before anything is known about the client, and an unusual key may cost 10 ms.
 */
const MAX_UNTRUSTED_MS_PER_SECOND = 100
const KEEP_ALIVE_DELAY_MS = 60_000

/**
 * The connection whose bytes are being passed to TLS, because Node does not expose the stream below a TLS socket. A
 * handshake ends while the last message of the client is read.
 */
let current: HandshakeStream | undefined
const completed = new WeakSet<TLSSocket>()

/** Ends the limits of a handshake, which has succeeded. Called in the turn of the event `secureConnection`. */
export function completeHandshake(secure: TLSSocket): void {
  if (current === undefined || completed.has(secure)) return
  completed.add(secure)
  describeEnds(secure, current.socket)
  current.complete(secure.authorized || Object.keys(secure.getPeerCertificate()).length === 0)
}

/**
 * Limits the work for client certificates before they are read. Node has no limit on the chain, which OpenSSL verifies
 * within one step. Therefore the bytes of these connections pass through a stream, which stops reading a handshake that
 * is too long, and delays handshakes of an address that used up its time.
 */
export class ClientHandshakes {
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>
  readonly #rates: KeyedRateLimiter

  constructor(clock: Pick<Clock, 'monotonic' | 'schedule'> = systemClock) {
    this.#clock = clock
    this.#rates = new KeyedRateLimiter(MAX_UNTRUSTED_MS_PER_SECOND)
  }

  /** Limits the handshakes of a server that requests certificates. */
  guard(server: Server): void {
    // A listener could not replace the socket for other listeners.
    const { emit }: Pick<Server, 'emit'> = server
    Object.assign(server, {
      emit: (event: string, ...args: unknown[]): unknown => {
        const [socket] = args
        if (event === 'connection' && socket instanceof Socket)
          return Reflect.apply(emit, server, [event, this.#createStream(socket)])
        if (event === 'secureConnection' && socket instanceof TLSSocket) completeHandshake(socket)
        return Reflect.apply(emit, server, [event, ...args])
      },
    })
  }

  #createStream(socket: Socket): HandshakeStream {
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_DELAY_MS)
    // The TLS connection, which inherits this, decides when the socket ends.
    socket.allowHalfOpen = true
    const network = networkOf(socket.remoteAddress ?? '')
    return new HandshakeStream(socket, () => this.#rates.of(network, this.#clock.monotonic()), this.#clock)
  }
}

/** Gives a TLS socket the addresses of the connection below it, which Node looks up only in a network socket. */
function describeEnds(
  secure: TLSSocket,
  { remoteAddress, remotePort, remoteFamily, localAddress, localPort }: Socket,
): void {
  for (const [name, value] of Object.entries({ remoteAddress, remotePort, remoteFamily, localAddress, localPort }))
    Object.defineProperty(secure, name, { value, configurable: true })
}

/** The stream between a socket and its TLS connection. It is transparent after the handshake. */
class HandshakeStream extends Duplex {
  readonly socket: Socket
  readonly #rateOf: () => RateLimiter
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>
  #isSecure = false
  #bytes = 0
  #costMs = 0
  #isFree = false
  readonly #pause: Timer

  constructor(socket: Socket, rateOf: () => RateLimiter, clock: Pick<Clock, 'monotonic' | 'schedule'>) {
    super({ allowHalfOpen: true })
    this.socket = socket
    this.#rateOf = rateOf
    this.#clock = clock
    this.#pause = new Timer(clock)
    socket.on('data', (chunk: Uint8Array) => this.#read(chunk))
    socket.on('end', () => {
      // A client that has closed its side cannot end its handshake.
      if (this.#isSecure) this.push(null)
      else this.destroy()
    })
    socket.on('error', error => this.destroy(error))
    socket.on('close', () => this.destroy())
  }

  get remoteAddress(): string | undefined {
    return this.socket.remoteAddress
  }

  get remotePort(): number | undefined {
    return this.socket.remotePort
  }

  get localPort(): number | undefined {
    return this.socket.localPort
  }

  /** @param isFree - whether the client has proved a trusted identity, or sent no certificate */
  complete(isFree: boolean): void {
    this.#isSecure = true
    this.#isFree = isFree
  }

  override _read(): void {
    if (!this.#pause.isSet) this.socket.resume()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(chunk, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.end(() => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#pause.cancel()
    this.socket.destroy()
    done(error)
  }

  #read(chunk: Uint8Array): void {
    if (this.#isSecure) {
      if (!this.push(chunk)) this.socket.pause()
      return
    }
    const helloBytes = this.#bytes === 0 ? helloLength(chunk) : 0
    if (helloBytes > 0) {
      this.#bytes = helloBytes
      this.#feed(chunk.subarray(0, helloBytes))
      if (chunk.length > helloBytes) this.#read(chunk.subarray(helloBytes))
      return
    }
    if (this.#delay(chunk)) return
    const size = MAX_HANDSHAKE_BYTES - this.#bytes
    this.#bytes += chunk.length
    this.#pass(chunk.subarray(0, size))
    if (chunk.length <= size || this.destroyed) return
    // The rest of the chunk may be data that follows the handshake.
    if (this.#isSecure) this.#read(chunk.subarray(size))
    else this.destroy(Object.assign(new Error('the handshake is too long'), { code: 'HANDSHAKE_TOO_LONG' }))
  }

  /** Delays the processing of a chunk until the address is within its time. */
  #delay(chunk: Uint8Array): boolean {
    const waitMs = this.#rateOf().wait(this.#clock.monotonic())
    if (waitMs === 0) return false
    this.socket.pause()
    this.#pause.set(waitMs, () => {
      this.#read(chunk)
      if (!this.#pause.isSet) this.socket.resume()
    })
    return true
  }

  /** Passes a chunk to TLS. The address is charged for the time until its client has proved a trusted identity. */
  #pass(chunk: Uint8Array): void {
    const startedAt = this.#clock.monotonic()
    this.#feed(chunk)
    const now = this.#clock.monotonic()
    if (this.#isFree) this.#rateOf().charge(-this.#costMs, now)
    else {
      this.#costMs += now - startedAt
      this.#rateOf().charge(now - startedAt, now)
    }
  }

  #feed(chunk: Uint8Array): void {
    current = this
    try {
      this.push(chunk)
    } finally {
      current = undefined
    }
  }
}

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER_BYTES = 5
const MESSAGE_HEADER_BYTES = 4

/**
 * Returns the length of a record with nothing but a ClientHello (RFC 8446, section 5.1), or 0. It costs every TLS server
 * the same, so it is neither charged nor delayed. A record with more could hold certificates.
 */
function helloLength(chunk: Uint8Array): number {
  const [type, , , high = 0, low = 0, message, first = 0, second = 0, third = 0] = chunk
  const recordBytes = high * 256 + low
  const messageBytes = MESSAGE_HEADER_BYTES + first * 65_536 + second * 256 + third
  const isLone = type === HANDSHAKE_RECORD && message === CLIENT_HELLO && recordBytes === messageBytes
  return isLone && chunk.length >= RECORD_HEADER_BYTES + recordBytes ? RECORD_HEADER_BYTES + recordBytes : 0
}
