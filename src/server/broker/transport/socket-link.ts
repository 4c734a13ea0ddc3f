import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import * as PACKET from '../../../core/mqtt5/packet-types.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import { LIMIT } from '../limits/limits.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import type { Connection } from '../session/connection.js'
import type { Link } from '../session/link.js'
import { type FairScheduler, ReadThrottle } from './fair-scheduler.js'
import type { Arrival } from './listeners.js'
import { type InflowHost, ReceiveBuffer } from './receive-buffer.js'
import { SendBuffer } from './send-buffer.js'
import type { WebSocketBufferMeter } from './web-socket.js'

/** What all links of a broker share. */
export interface LinkHost extends InflowHost {
  readonly accounts: QuotaAccounts
  readonly turns: FairScheduler
}

/** `new`: nothing came yet. `half-closed`: the client sends no more. `over`: what comes is read and forgotten. */
type State = 'new' | 'open' | 'half-closed' | 'over'

/** Why the packets of a connection stop: there may be more, all is done, the client takes no more, or it is over. */
type Stop = 'more' | 'done' | 'stalled' | 'over'

/** A connection over a socket: cuts what comes into packets, and hands them to its connection as it can take them. */
export class SocketLink implements Link {
  readonly remoteAddress: string | undefined
  readonly transport: 'tcp' | 'websocket'
  readonly secure: TLSSocket | undefined
  readonly #stream: Duplex
  readonly #host: LinkHost
  readonly #sendBuffer: SendBuffer
  readonly #receiveBuffer: ReceiveBuffer
  readonly #unwrapping: WebSocketBufferMeter | undefined
  readonly #readThrottle: ReadThrottle
  readonly room: Link['room']
  #connection: Connection | undefined
  #state: State = 'new'
  /** Work is under way, or waits for its turn. */
  #working = false
  #paused = false
  #closing: Deadline<() => void> | undefined

  constructor({ stream, socket, upgraded }: Arrival, host: LinkHost) {
    this.remoteAddress = upgraded?.remoteAddress ?? socket.remoteAddress
    this.transport = stream === socket ? 'tcp' : 'websocket'
    this.secure = socket instanceof TLSSocket ? socket : undefined
    this.#stream = stream
    this.#host = host
    this.#sendBuffer = new SendBuffer(stream, socket, host.budget, () => this.#taken())
    this.#receiveBuffer = new ReceiveBuffer(host, () => this.#connection?.overdue('a packet'))
    this.#unwrapping = upgraded?.unwrapping
    this.#readThrottle = new ReadThrottle(host, host.accounts.pacersOf(this.remoteAddress), paused =>
      this.#goOn(paused),
    )
    this.room = this.#sendBuffer
  }

  get unsent(): number {
    return this.#sendBuffer.unsent
  }

  get held(): number {
    const unsent = this.unsent > LIMIT.unsent ? this.unsent : 0
    return this.#receiveBuffer.kept + (this.#unwrapping?.held ?? 0) + unsent
  }

  get underway(): number {
    const unsent = this.unsent > LIMIT.unsent ? 0 : this.unsent
    return this.#receiveBuffer.held - this.#receiveBuffer.kept + unsent
  }

  write(piece: Uint8Array): void {
    this.#sendBuffer.write(piece)
  }

  isLarge(piece: Uint8Array): boolean {
    return this.#sendBuffer.isLarge(piece)
  }

  linger(): void {
    this.#sendBuffer.linger()
  }

  end(): void {
    this.#state = 'over'
    this.#receiveBuffer.clear()
    this.#sendBuffer.end()
    const { timeouts, clock } = this.#host
    this.#closing ??= timeouts.add(clock.monotonic() + LIMIT.closeTimeout, this.#destroyed)
  }

  destroy(): void {
    this.#state = 'over'
    // The stream tells of its end later; who gives it up for its memory wants that at once.
    this.#receiveBuffer.clear()
    this.#unwrapping?.clear()
    this.#sendBuffer.drop()
    this.#stream.destroy()
  }

  /** Reads for a connection from now on. */
  attach(connection: Connection): void {
    this.#connection = connection
    this.#stream.on('data', (chunk: Uint8Array) => this.#read(chunk))
    this.#stream.on('end', () => {
      if (this.#state !== 'over') this.#state = 'half-closed'
      connection.leave()
      this.wake()
    })
    // Its end says all there is to say.
    this.#stream.on('error', this.#destroyed)
    this.#stream.on('close', () => this.#closed())
  }

  readonly #destroyed = (): void => this.destroy()

  #read(chunk: Uint8Array): void {
    const connection = this.#connection
    // After the end nothing is listened to; but what comes has to be read for the network to close.
    if (connection === undefined || this.#state === 'over') return
    // Whoever does not begin with CONNECT gets no answer (MQTT 5.0, section 3.1), and the rest of it is not waited for.
    if (this.#state === 'new') {
      if ((chunk[0] ?? 0) >> 4 !== PACKET.connect) {
        connection.cut()
        return
      }
      this.#state = 'open'
    }
    connection.seen()
    this.#receiveBuffer.push(chunk)
    this.#readThrottle.bytes += chunk.length
    this.wake()
  }

  /** The network has taken what it had: what waited for that goes on. */
  #taken(): void {
    if (this.#paused || this.#state === 'half-closed') this.wake()
  }

  wake(): void {
    if (this.#working || this.#readThrottle.pausing) return
    this.#working = true
    if (!this.#host.turns.begin(this.#slice)) this.#pause(true)
  }

  /** Packets, one after the other, until the time is over, it is ahead of its rate, or it takes no more. */
  readonly #slice = (until: number): boolean => {
    const connection = this.#connection
    if (connection === undefined) return false
    this.#sendBuffer.hold()
    // Whose it is, and how much it may send, is known when it is let in.
    const room = connection.open ? this.#readThrottle.room(connection.account) : 1
    const stop = this.#packets(connection, until, room)
    this.#sendBuffer.release()
    this.#receiveBuffer.settle(stop !== 'more')
    const slowed = stop !== 'over' && this.#readThrottle.settle(connection.account)
    this.#pause(slowed || stop === 'more' || stop === 'stalled')
    this.#working = stop === 'more' && !slowed
    // What comes meanwhile is not read; that is not the client's silence.
    if (slowed || stop === 'more') connection.seen()
    else if (stop === 'done' && this.#state === 'half-closed') connection.finish()
    else if (stop !== 'over') this.#receiveBuffer.watch()
    return this.#working
  }

  #packets(connection: Connection, until: number, room: number): Stop {
    let taken = 0
    let isLate = false
    try {
      while (this.#state !== 'over') {
        if (this.#stalls(connection)) return 'stalled'
        // What a client acknowledges takes less time than a look at the clock, and there is but one piece of it.
        if (connection.open && this.#acknowledged(connection)) continue
        if (isLate || taken >= room) return 'more'
        if (!connection.proceed()) {
          const frame = this.#receiveBuffer.next()
          if (frame !== undefined) {
            taken++
            connection.receive(frame)
          } else if (!this.#receiveBuffer.feed()) return 'done'
        }
        isLate = this.#host.clock.monotonic() >= until
      }
    } catch (error) {
      connection.fail(error)
    } finally {
      this.#readThrottle.packets += taken
    }
    return 'over'
  }

  /** As {@link Connection.stalled}, which nearly always need not be asked. */
  #stalls(connection: Connection): boolean {
    return this.unsent > LIMIT.unsent && connection.stalled
  }

  /** A pause is over, in which the client was not read: that is neither its silence nor its slowness. */
  #goOn(paused: number): void {
    const connection = this.#connection
    connection?.seen()
    this.#receiveBuffer.postpone(paused)
    // It may take more than one.
    if (this.#state === 'over' || !this.#readThrottle.settle(connection?.account)) this.wake()
  }

  #acknowledged(connection: Connection): boolean {
    const packetId = this.#receiveBuffer.nextPuback()
    if (packetId === 0) return false
    connection.acknowledged(packetId)
    return true
  }

  /** What is not read stays with the system, which slows the sender down. */
  #pause(paused: boolean): void {
    if (paused === this.#paused) return
    this.#paused = paused
    if (paused) this.#stream.pause()
    else this.#stream.resume()
  }

  #closed(): void {
    this.#state = 'over'
    if (this.#closing) this.#host.timeouts.remove(this.#closing)
    this.#readThrottle.stop()
    this.#receiveBuffer.clear()
    this.#connection?.lost()
    this.#connection = undefined
  }
}
