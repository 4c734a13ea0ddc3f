import type { Duplex } from 'node:stream'
import * as PACKET from '../../../core/mqtt5/packet-types.js'
import type { Deadline } from '../../../core/util/deadlines.js'
import type { TurnScheduler } from '../../../node/limits/turn-scheduler.js'
import { LIMIT } from '../limits/limits.js'
import type { QuotaAccounts } from '../limits/quota-accounts.js'
import type { Traffic } from '../limits/traffic.js'
import type { Connection } from '../session/connection.js'
import type { Link } from '../session/link.js'
import type { IncomingConnection } from './listeners.js'
import { ReadThrottle } from './read-throttle.js'
import { ReceiveBuffer, type ReceiveBufferHost } from './receive-buffer.js'
import { SendBuffer } from './send-buffer.js'
import type { WebSocketBufferMeter } from './web-socket.js'

export interface LinkHost extends ReceiveBufferHost {
  readonly accounts: QuotaAccounts
  readonly traffic: Traffic
  readonly scheduler: TurnScheduler
}

/**
 * The state of the input. `new`: no data received. `half-closed`: the client has closed its side. `over`: input is read
 * and discarded.
 */
type LinkState = 'new' | 'open' | 'half-closed' | 'over'

/**
 * The reason why processing stopped. `more`: the time or the rate is used up. `stalled`: the client reads too slowly.
 */
type StopReason = 'more' | 'done' | 'stalled' | 'over'

/** Splits received data into packets and passes them to its {@link Connection} at the permitted rate. */
export class SocketLink implements Link {
  readonly remoteAddress: string | undefined
  readonly transport: 'tcp' | 'websocket'
  readonly secure: Link['secure']
  readonly #stream: Duplex
  readonly #host: LinkHost
  readonly #sendBuffer: SendBuffer
  readonly #receiveBuffer: ReceiveBuffer
  readonly #webSocketMeter: WebSocketBufferMeter | undefined
  readonly #readThrottle: ReadThrottle
  readonly writeBuffer: Link['writeBuffer']
  #connection: Connection | undefined
  #state: LinkState = 'new'
  /** Whether a slice is running or queued. */
  #isWorking = false
  /** Whether work waits until the client takes sent data. */
  #isStalling = false
  #isPaused = false
  #closeDeadline: Deadline<() => void> | undefined

  constructor({ stream, socket, secure, upgraded }: IncomingConnection, host: LinkHost) {
    this.remoteAddress = upgraded?.remoteAddress ?? socket.remoteAddress
    this.transport = stream === socket ? 'tcp' : 'websocket'
    this.secure = secure
    this.#stream = stream
    this.#host = host
    this.#sendBuffer = new SendBuffer(stream, socket, host, () => this.#onDrained())
    this.#receiveBuffer = new ReceiveBuffer(host, () => this.#connection?.cutOverdue('a packet'))
    this.#webSocketMeter = upgraded?.meter
    this.#readThrottle = new ReadThrottle(host, host.accounts.rateAccountsOf(this.remoteAddress), pausedMs =>
      this.#resume(pausedMs),
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
    // The buffers are released now, because an eviction needs the memory and the stream emits `close` later.
    this.#receiveBuffer.clear()
    this.#webSocketMeter?.clear()
    this.#sendBuffer.drop()
    this.#stream.destroy()
  }

  attach(connection: Connection): void {
    this.#connection = connection
    this.#stream.on('data', (chunk: Uint8Array) => this.#read(chunk))
    this.#stream.on('end', () => {
      if (this.#state !== 'over') this.#state = 'half-closed'
      connection.endInput()
      this.wake()
    })
    // The `close` event that follows ends the connection.
    this.#stream.on('error', this.#destroyStream)
    this.#stream.on('close', () => this.#onClose())
  }

  readonly #destroyStream = (): void => this.destroy()

  #read(chunk: Uint8Array): void {
    const connection = this.#connection
    // After the end, input is discarded but must still be read for the socket to close.
    if (connection === undefined || this.#state === 'over') return
    // A connection without CONNECT receives no response (MQTT 5.0, section 3.1), so the first byte decides.
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
    this.#host.traffic.bytesReceived += chunk.length
    // Many chunks could arrive before a queued slice runs.
    if (this.#isWorking) this.#setPaused(true)
    else this.wake()
  }

  #onDrained(): void {
    const hasWork = this.#isPaused || this.#isStalling || this.#state === 'half-closed'
    if (hasWork || this.#connection?.canInterleave) this.wake()
  }

  wake(): void {
    if (this.#isWorking || this.#readThrottle.isPausing) return
    this.#isWorking = true
    if (!this.#host.scheduler.run(this.#slice)) this.#setPaused(true)
  }

  readonly #slice = (deadlineMs: number): boolean => {
    try {
      return this.#processSlice(deadlineMs)
    } catch (error) {
      // Without its slice, the link would never read again. The scheduler reports the error.
      this.destroy()
      throw error
    }
  }

  /** Processes packets until the deadline, the rate limit, or backpressure from the client. */
  #processSlice(deadlineMs: number): boolean {
    const connection = this.#connection
    if (connection === undefined) return false
    this.#sendBuffer.hold()
    // The rate account is unknown before authentication, so only CONNECT is processed.
    const packetAllowance = connection.open ? this.#readThrottle.packetAllowance(connection.account) : 1
    const stop = this.#processPackets(connection, deadlineMs, packetAllowance)
    this.#sendBuffer.release()
    this.#receiveBuffer.settle(stop !== 'more')
    const isPausing = stop !== 'over' && this.#readThrottle.chargeAndPause(connection.account)
    this.#isStalling = stop === 'stalled'
    // Otherwise packets would be read only after all queued and retained messages are sent.
    const canRead = connection.canInterleave && this.#receiveBuffer.heldBytes === 0
    this.#setPaused(isPausing || ((stop === 'more' || stop === 'stalled') && !canRead))
    this.#isWorking = stop === 'more' && !isPausing
    // Reading is paused, so a lack of packets does not mean that the client is inactive.
    if (isPausing || stop === 'more') connection.recordActivity()
    else if (stop === 'done' && this.#state === 'half-closed') connection.finish()
    else if (stop !== 'over') this.#receiveBuffer.watch()
    return this.#isWorking
  }

  #processPackets(connection: Connection, deadlineMs: number, packetAllowance: number): StopReason {
    let [frameCount, pubackCount] = [0, 0]
    let isLate = false
    try {
      while (this.#state !== 'over') {
        // PUBACKs do not count against the time slice, because a PUBACK is cheaper than reading the clock and the
        // buffer is bounded. A slow client that acknowledges messages makes progress.
        if (connection.open && this.#processPuback(connection)) {
          pubackCount++
          continue
        }
        if (this.#isStalled(connection)) return 'stalled'
        if (isLate || frameCount >= packetAllowance) return 'more'
        const hasProcessed = connection.processNext()
        const frame = hasProcessed && !connection.canInterleave ? undefined : this.#receiveBuffer.next()
        if (frame !== undefined) {
          frameCount++
          connection.receive(frame)
        } else if (!hasProcessed && !this.#receiveBuffer.feed()) return 'done'
        isLate = this.#host.clock.monotonic() >= deadlineMs
      }
    } catch (error) {
      connection.fail(error)
    } finally {
      this.#readThrottle.packets += frameCount
      this.#host.traffic.packetsReceived += frameCount + pubackCount
    }
    return 'over'
  }

  /**
   * Returns whether the client reads too slowly. Checks the cheap condition first. See {@link Connection.isStalled}.
   */
  #isStalled(connection: Connection): boolean {
    return this.unsentBytes > LIMIT.readPauseBytes && connection.isStalled
  }

  /** Resumes reading. The pause counts neither as silence nor towards packet deadlines. */
  #resume(pausedMs: number): void {
    const connection = this.#connection
    connection?.recordActivity()
    this.#receiveBuffer.extendDeadline(pausedMs)
    // The required wait may exceed one pause.
    if (this.#state === 'over' || !this.#readThrottle.chargeAndPause(connection?.account)) this.wake()
  }

  #processPuback(connection: Connection): boolean {
    const packetId = this.#receiveBuffer.nextPuback()
    if (packetId === 0) return false
    connection.handlePuback(packetId)
    return true
  }

  /** Pauses or resumes reading. Unread data stays in the system's buffer, so TCP backpressure slows the sender down. */
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
