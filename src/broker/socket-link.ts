import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Deadline } from '../base/deadlines.js'
import { Fifo } from '../base/fifo.js'
import { FrameCutter } from '../packet/frame-cutter.js'
import { PacketError } from '../packet/packet-error.js'
import * as REASON from '../packet/reason-codes.js'
import type { Accounts } from './accounts.js'
import type { Budget } from './budget.js'
import type { Connection } from './connection.js'
import { LIMIT } from './limits.js'
import type { Link } from './link.js'
import { Outflow } from './outflow.js'
import { Tempo } from './tempo.js'
import type { Turns } from './turns.js'
import { Unfinished, type UnfinishedHost, type UnfinishedReader } from './unfinished.js'

/** What all links of a broker share. */
export interface LinkHost extends UnfinishedHost {
  readonly budget: Budget
  readonly accounts: Accounts
  readonly turns: Turns
  readonly maximumPacketSize: number
}

/** A connection over a socket: cuts what comes into packets, and hands them to its connection as it can take them. */
export class SocketLink implements Link, UnfinishedReader {
  readonly remoteAddress: string | undefined
  readonly transport: 'tcp' | 'websocket'
  readonly secure: TLSSocket | undefined
  readonly #stream: Duplex
  readonly #host: LinkHost
  readonly #outflow: Outflow
  readonly #cutter: FrameCutter
  readonly #tempo: Tempo
  readonly room: Link['room']
  #connection: Connection | undefined
  /** What came and is not cut yet: little, as nothing more is read meanwhile. */
  readonly #chunks = new Fifo<Uint8Array>()
  #unread = 0
  /** What of that and of the cutter's memory is counted, bytes. */
  held = 0
  /** Work is under way, or waits for its turn. */
  #working = false
  #paused = false
  /** The client sends no more. */
  #ended = false
  #closing: Deadline<() => void> | undefined
  readonly #unfinished: Unfinished

  /** @param socket - below the stream; over TCP the stream itself */
  constructor(stream: Duplex, socket: Socket, host: LinkHost) {
    this.remoteAddress = socket.remoteAddress
    this.transport = stream === socket ? 'tcp' : 'websocket'
    this.secure = socket instanceof TLSSocket ? socket : undefined
    this.#stream = stream
    this.#host = host
    this.#outflow = new Outflow(stream, socket, host.budget, () => this.#taken())
    this.#cutter = new FrameCutter(host.maximumPacketSize)
    this.#tempo = new Tempo(host, host.accounts.pacersOf(this.remoteAddress), paused => this.#goOn(paused))
    this.#unfinished = new Unfinished(host, this)
    this.room = this.#outflow.room
  }

  get unsent(): number {
    return this.#outflow.unsent
  }

  write(piece: Uint8Array): void {
    this.#outflow.write(piece)
  }

  isLarge(piece: Uint8Array): boolean {
    return this.#outflow.isLarge(piece)
  }

  linger(): void {
    this.#outflow.linger()
  }

  end(): void {
    this.#outflow.end()
    const { timeouts, clock } = this.#host
    this.#closing ??= timeouts.add(clock.monotonic() + LIMIT.closeTimeout, this.#destroyed)
  }

  destroy(): void {
    this.#stream.destroy()
  }

  overdue(): void {
    this.#connection?.cut()
  }

  /** Reads for a connection from now on. */
  attach(connection: Connection): void {
    this.#connection = connection
    this.#stream.on('data', (chunk: Uint8Array) => this.#read(chunk))
    this.#stream.on('end', () => {
      this.#ended = true
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
    if (connection === undefined || connection.ended) return
    connection.seen()
    this.#chunks.push(chunk)
    this.#unread += chunk.length
    this.#tempo.bytes += chunk.length
    this.#hold(chunk.length)
    this.wake()
  }

  /** The network has taken what it had: what waited for that goes on. */
  #taken(): void {
    if (this.#paused || this.#ended) this.wake()
  }

  wake(): void {
    if (this.#working || this.#tempo.pausing) return
    this.#working = true
    if (!this.#host.turns.begin(this.#slice)) this.#pause(true)
  }

  /** Packets, one after the other, until the time is over, it is ahead of its rate, or it takes no more. */
  readonly #slice = (until: number): boolean => {
    const connection = this.#connection
    if (connection === undefined) return false
    this.#outflow.hold()
    // Whose it is, and how much it may send, is known when it is let in.
    const room = connection.open ? this.#tempo.room(connection.account) : 1
    const left = this.#packets(connection, until, room)
    this.#outflow.release()
    this.#hold(this.#cutter.held + this.#unread - this.held)
    const slowed = !connection.ended && this.#tempo.settle(connection.account)
    this.#pause(left || slowed || (connection.stalled && !connection.ended))
    if (slowed) {
      connection.seen()
      this.#working = false
      return false
    }
    if (left) {
      // What comes meanwhile is not read; that is not the client's silence.
      connection.seen()
      return true
    }
    this.#working = false
    if (this.#ended && !connection.stalled) connection.finish()
    else this.#watchPartial(connection)
    return false
  }

  /** Returns whether there may be more. */
  #packets(connection: Connection, until: number, room: number): boolean {
    let taken = 0
    try {
      while (!connection.ended && !connection.stalled) {
        // What a client acknowledges takes less time than a look at the clock, and there is but one piece of it.
        if (connection.open && this.#acknowledged(connection)) continue
        if (taken >= room) return true
        if (!connection.proceed()) {
          const frame = this.#cutter.next()
          if (frame !== undefined) {
            this.#unfinished.end()
            taken++
            connection.receive(frame)
          } else if (!this.#feed()) return false
        }
        if (this.#host.clock.monotonic() >= until) return true
      }
    } catch (error) {
      connection.fail(error)
    } finally {
      this.#tempo.packets += taken
    }
    return false
  }

  /** A pause is over, in which the client was not read: that is neither its silence nor its slowness. */
  #goOn(paused: number): void {
    const connection = this.#connection
    connection?.seen()
    this.#unfinished.postpone(paused)
    // It may take more than one.
    if (connection?.ended !== false || !this.#tempo.settle(connection.account)) this.wake()
  }

  #acknowledged(connection: Connection): boolean {
    const packetId = this.#cutter.nextPuback()
    if (packetId === 0) return false
    this.#unfinished.end()
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

  /** Hands the next of what came to the cutter; returns whether there was something. */
  #feed(): boolean {
    const chunk = this.#chunks.shift()
    if (chunk === undefined) return false
    this.#unread -= chunk.length
    this.#unfinished.piece(chunk)
    this.#cutter.push(chunk)
    return true
  }

  /** Counts memory for what came and is not done with. */
  #hold(bytes: number): void {
    this.#host.budget.count(bytes)
    this.held += bytes
  }

  #watchPartial(connection: Connection): void {
    if (!this.#cutter.partial || connection.ended) {
      this.#unfinished.begun = undefined
      return
    }
    this.#unfinished.watch()
    if (this.#host.budget.exceeded && this.held > LIMIT.worthRefusing)
      connection.fail(new PacketError(REASON.quotaExceeded, 'the broker has no room for a packet of this size'))
  }

  #closed(): void {
    if (this.#closing) this.#host.timeouts.remove(this.#closing)
    this.#unfinished.stop()
    this.#tempo.stop()
    this.#hold(-this.held)
    this.#chunks.clear()
    this.#connection?.lost()
    this.#connection = undefined
  }
}
