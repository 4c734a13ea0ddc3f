import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import * as PACKET from '../../../core/mqtt5/packet-types.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import { LIMIT } from '../limits/limits.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import type { Connection } from '../session/connection.js'
import type { Link } from '../session/link.js'
import { type FairScheduler, ReadThrottle } from './fair-scheduler.js'
import type { IncomingConnection } from './listeners.js'
import { ReceiveBuffer, type ReceiveBufferHost } from './receive-buffer.js'
import { SendBuffer } from './send-buffer.js'
import type { WebSocketBufferMeter } from './web-socket.js'

/** What all links of a broker share. */
export interface LinkHost extends ReceiveBufferHost {
  readonly accounts: QuotaAccounts
  readonly scheduler: FairScheduler
}

/** `new`: nothing came yet. `half-closed`: the client sends no more. `over`: what comes is read and forgotten. */
type LinkState = 'new' | 'open' | 'half-closed' | 'over'

/** Why the packets of a connection stop: there may be more, all is done, the client takes no more, or it is over. */
type StopReason = 'more' | 'done' | 'stalled' | 'over'

/** A connection over a socket: cuts what comes into packets, and hands them to its connection as it can take them. */
export class SocketLink implements Link {
  readonly remoteAddress: string | undefined
  readonly transport: 'tcp' | 'websocket'
  readonly secure: TLSSocket | undefined
  readonly #stream: Duplex
  readonly #host: LinkHost
  readonly #sendBuffer: SendBuffer
  readonly #receiveBuffer: ReceiveBuffer
  readonly #webSocketMeter: WebSocketBufferMeter | undefined
  readonly #readThrottle: ReadThrottle
  readonly writeBuffer: Link['writeBuffer']
  #connection: Connection | undefined
  #state: LinkState = 'new'
  /** Work is under way, or waits for its turn. */
  #isWorking = false
  #isPaused = false
  #closeDeadline: Deadline<() => void> | undefined

  constructor({ stream, socket, upgraded }: IncomingConnection, host: LinkHost) {
    this.remoteAddress = upgraded?.remoteAddress ?? socket.remoteAddress
    this.transport = stream === socket ? 'tcp' : 'websocket'
    this.secure = socket instanceof TLSSocket ? socket : undefined
    this.#stream = stream
    this.#host = host
    this.#sendBuffer = new SendBuffer(stream, socket, host.budget, () => this.#onDrained())
    this.#receiveBuffer = new ReceiveBuffer(host, () => this.#connection?.cutOverdue('a packet'))
    this.#webSocketMeter = upgraded?.meter
    this.#readThrottle = new ReadThrottle(host, host.accounts.rateAccountsOf(this.remoteAddress), paused =>
      this.#resume(paused),
    )
    this.writeBuffer = this.#sendBuffer
  }

  get unsentBytes(): number {
    return this.#sendBuffer.unsentBytes
  }

  get heldBytes(): number {
    const unsentBytes = this.unsentBytes > LIMIT.readPauseBytes ? this.unsentBytes : 0
    return this.#receiveBuffer.incompleteBytes + (this.#webSocketMeter?.heldBytes ?? 0) + unsentBytes
  }

  get transientBytes(): number {
    const unsentBytes = this.unsentBytes > LIMIT.readPauseBytes ? 0 : this.unsentBytes
    return this.#receiveBuffer.heldBytes - this.#receiveBuffer.incompleteBytes + unsentBytes
  }

  write(piece: Uint8Array): void {
    this.#sendBuffer.write(piece)
  }

  isLarge(piece: Uint8Array): boolean {
    return this.#sendBuffer.isLarge(piece)
  }

  delayFlush(): void {
    this.#sendBuffer.delayFlush()
  }

  end(): void {
    this.#state = 'over'
    this.#receiveBuffer.clear()
    this.#sendBuffer.end()
    const { timeouts, clock } = this.#host
    this.#closeDeadline ??= timeouts.add(clock.monotonic() + LIMIT.closeTimeoutMs, this.#destroyStream)
  }

  destroy(): void {
    this.#state = 'over'
    // The stream tells of its end later; who gives it up for its memory wants that at once.
    this.#receiveBuffer.clear()
    this.#webSocketMeter?.clear()
    this.#sendBuffer.drop()
    this.#stream.destroy()
  }

  /** Reads for a connection from now on. */
  attach(connection: Connection): void {
    this.#connection = connection
    this.#stream.on('data', (chunk: Uint8Array) => this.#read(chunk))
    this.#stream.on('end', () => {
      if (this.#state !== 'over') this.#state = 'half-closed'
      connection.endInput()
      this.wake()
    })
    // Its end says all there is to say.
    this.#stream.on('error', this.#destroyStream)
    this.#stream.on('close', () => this.#onClose())
  }

  readonly #destroyStream = (): void => this.destroy()

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
    connection.recordActivity()
    this.#receiveBuffer.push(chunk)
    this.#readThrottle.bytes += chunk.length
    this.wake()
  }

  /** The network has taken what it had: what waited for that goes on. */
  #onDrained(): void {
    if (this.#isPaused || this.#state === 'half-closed') this.wake()
  }

  wake(): void {
    if (this.#isWorking || this.#readThrottle.isPausing) return
    this.#isWorking = true
    if (!this.#host.scheduler.run(this.#slice)) this.#setPaused(true)
  }

  /** Packets, one after the other, until the time is over, it is ahead of its rate, or it takes no more. */
  readonly #slice = (deadlineMs: number): boolean => {
    const connection = this.#connection
    if (connection === undefined) return false
    this.#sendBuffer.hold()
    // Whose it is, and how much it may send, is known when it is let in.
    const packetAllowance = connection.open ? this.#readThrottle.packetAllowance(connection.account) : 1
    const stop = this.#processPackets(connection, deadlineMs, packetAllowance)
    this.#sendBuffer.release()
    this.#receiveBuffer.settle(stop !== 'more')
    const isPausing = stop !== 'over' && this.#readThrottle.chargeAndPause(connection.account)
    this.#setPaused(isPausing || stop === 'more' || stop === 'stalled')
    this.#isWorking = stop === 'more' && !isPausing
    // What comes meanwhile is not read; that is not the client's silence.
    if (isPausing || stop === 'more') connection.recordActivity()
    else if (stop === 'done' && this.#state === 'half-closed') connection.finish()
    else if (stop !== 'over') this.#receiveBuffer.watch()
    return this.#isWorking
  }

  #processPackets(connection: Connection, deadlineMs: number, packetAllowance: number): StopReason {
    let frameCount = 0
    let isLate = false
    try {
      while (this.#state !== 'over') {
        if (this.#isStalled(connection)) return 'stalled'
        // What a client acknowledges takes less time than a look at the clock, and there is but one piece of it.
        if (connection.open && this.#processPuback(connection)) continue
        if (isLate || frameCount >= packetAllowance) return 'more'
        if (!connection.processNext()) {
          const frame = this.#receiveBuffer.next()
          if (frame !== undefined) {
            frameCount++
            connection.receive(frame)
          } else if (!this.#receiveBuffer.feed()) return 'done'
        }
        isLate = this.#host.clock.monotonic() >= deadlineMs
      }
    } catch (error) {
      connection.fail(error)
    } finally {
      this.#readThrottle.packets += frameCount
    }
    return 'over'
  }

  /** As {@link Connection.isStalled}, which nearly always need not be asked. */
  #isStalled(connection: Connection): boolean {
    return this.unsentBytes > LIMIT.readPauseBytes && connection.isStalled
  }

  /** A pause is over, in which the client was not read: that is neither its silence nor its slowness. */
  #resume(pausedMs: number): void {
    const connection = this.#connection
    connection?.recordActivity()
    this.#receiveBuffer.extendDeadline(pausedMs)
    // It may take more than one.
    if (this.#state === 'over' || !this.#readThrottle.chargeAndPause(connection?.account)) this.wake()
  }

  #processPuback(connection: Connection): boolean {
    const packetId = this.#receiveBuffer.nextPuback()
    if (packetId === 0) return false
    connection.handlePuback(packetId)
    return true
  }

  /** What is not read stays with the system, which slows the sender down. */
  #setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    if (isPaused) this.#stream.pause()
    else this.#stream.resume()
  }

  #onClose(): void {
    this.#state = 'over'
    if (this.#closeDeadline) this.#host.timeouts.remove(this.#closeDeadline)
    this.#readThrottle.stop()
    this.#receiveBuffer.clear()
    this.#connection?.onNetworkClosed()
    this.#connection = undefined
  }
}
