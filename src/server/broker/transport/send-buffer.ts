import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Room } from '../../../core/mqtt5/publish-encoder.js'
import { afterIo } from '../../../core/util/clock.js'
import { LIMIT } from '../limits/limits.js'
import type { BrokerMemoryBudget } from '../limits/memory-evictor.js'

/** What is gathered in one block, and the largest piece that is worth a copy, bytes. */
const SMALLEST_BLOCK = 512
const LARGEST_BLOCK = 65_536
const LARGEST_PIECE = 16_384
/** With more unsent bytes a connection is {@link SendBuffer.full}. */
const HIGH_WATER = 65_536

const NOTHING = Buffer.alloc(0)

/**
 * When what is gathered leaves: not before something is, when what the event loop has read is worked off, or on `release`,
 * unless it lingers.
 */
type Departure = 'none' | 'due' | 'held' | 'lingering'

/**
 * What leaves over a connection: what is written in one turn of the event loop leaves as one piece, one system call over
 * TCP, one frame over WebSocket; and while the network does not take it, it waits here. An idle connection has no memory
 * for it.
 */
export class SendBuffer implements Room {
  readonly #stream: Duplex
  readonly #socket: Socket
  readonly #brokerMemoryBudget: BrokerMemoryBudget
  readonly #taken: () => void
  /** Full blocks and large pieces, before what is in the block. */
  #pieces: Uint8Array[] = []
  #block = NOTHING
  #from = 0
  #to = 0
  #blockSize = SMALLEST_BLOCK
  #gathered = 0
  /** What the stream has and has not got rid of, bytes. */
  #sent = 0
  #departure: Departure = 'none'
  /** Whether the stream has something to write; `watched`: so much that it has to take some of it in time. */
  #writing: 'no' | 'yes' | 'watched' = 'no'
  #ending = false

  /**
   * @param socket - below the stream, or the stream itself
   * @param taken - called when the network has taken what it was given
   */
  constructor(stream: Duplex, socket: Socket, budget: BrokerMemoryBudget, taken: () => void) {
    this.#stream = stream
    this.#socket = socket
    this.#brokerMemoryBudget = budget
    this.#taken = taken
    socket.on('timeout', () => this.#stalled())
    stream.on('close', () => this.drop())
  }

  /** What the network has not taken yet, bytes. */
  get unsent(): number {
    return this.#gathered + this.#sent
  }

  /** Whether senders that can wait should. */
  get full(): boolean {
    return this.unsent > HIGH_WATER
  }

  get block(): Uint8Array {
    return this.#block
  }

  /** Memory for a piece that is to leave; it is to be filled at once. */
  take(bytes: number): number {
    this.#gather(bytes)
    if (this.#to + bytes > this.#block.length) this.#newBlock(bytes)
    const at = this.#to
    this.#to += bytes
    return at
  }

  /** Writes a piece; a large one is not copied, and is not to be changed any more. */
  write(piece: Uint8Array): void {
    if (piece.length <= LARGEST_PIECE) {
      const at = this.take(piece.length)
      this.#block.set(piece, at)
      return
    }
    this.#gather(piece.length)
    this.#closeBlock()
    this.#pieces.push(piece)
  }

  /** Whether a piece is so large that {@link write} does not copy it. */
  isLarge(piece: Uint8Array): boolean {
    return piece.length > LARGEST_PIECE
  }

  /** Sends nothing until {@link release}, which has to follow in the same turn. */
  hold(): void {
    this.#departure = 'held'
  }

  /** Has the next {@link release} send nothing before all is worked off that the event loop has read. */
  linger(): void {
    if (this.#departure === 'held') this.#departure = 'lingering'
  }

  /** Sends what is there, unless more is to come with it. */
  release(): void {
    if (this.#departure !== 'lingering') {
      this.flush()
      return
    }
    this.#departure = 'due'
    afterIo(this.#turnOver)
  }

  /** Sends what is there, then ends the connection; what is written later is not sent. */
  end(): void {
    this.#ending = true
    this.flush()
  }

  /** Sends what is there, as soon as the network has taken what it has. */
  flush(): void {
    this.#departure = 'none'
    if (this.#writing !== 'no') return
    if (this.#gathered === 0) {
      if (this.#ending) this.#stream.end()
      return
    }
    this.#closeBlock()
    const pieces = this.#pieces
    this.#blockSize = Math.min(LARGEST_BLOCK, Math.max(SMALLEST_BLOCK, 2 ** Math.ceil(Math.log2(this.#gathered))))
    this.#pieces = []
    this.#block = NOTHING
    this.#from = this.#to = 0
    if (!this.#stream.writable) {
      this.#brokerMemoryBudget.give(this.#gathered)
      this.#gathered = 0
      return
    }
    this.#sent = this.#gathered
    this.#gathered = 0
    this.#writing = 'yes'
    this.#send(pieces)
    this.#watch()
  }

  /** Forgets what is there: the connection is gone, or about to be. */
  drop(): void {
    this.#brokerMemoryBudget.give(this.unsent)
    this.#gathered = this.#sent = 0
    this.#pieces = []
  }

  #send(pieces: Uint8Array[]): void {
    const last = pieces.pop()
    if (pieces.length > 0) this.#stream.cork()
    for (const piece of pieces) this.#stream.write(piece)
    this.#stream.write(last, this.#written)
    if (pieces.length > 0) this.#stream.uncork()
  }

  readonly #turnOver = (): void => this.flush()

  readonly #written = (): void => {
    const wasWatched = this.#writing === 'watched'
    this.#writing = 'no'
    this.#brokerMemoryBudget.give(this.#sent)
    this.#sent = 0
    this.flush()
    if (wasWatched) this.#watchOn()
    this.#taken()
  }

  #gather(bytes: number): void {
    this.#gathered += bytes
    this.#brokerMemoryBudget.count(bytes)
    if (this.#writing !== 'no') this.#watch()
    else if (this.#departure === 'none') {
      this.#departure = 'due'
      runAtTurnEnd(this.#turnOver)
    }
  }

  #newBlock(bytes: number): void {
    this.#closeBlock()
    this.#block = Buffer.allocUnsafe(Math.max(bytes, this.#blockSize))
    this.#from = this.#to = 0
    this.#blockSize = Math.min(LARGEST_BLOCK, 2 * this.#blockSize)
  }

  #closeBlock(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }

  #watch(): void {
    if (this.#writing === 'watched' || !this.full) return
    this.#writing = 'watched'
    this.#socket.setTimeout(LIMIT.stall)
  }

  /** Goes on watching while there is something to write. */
  #watchOn(): void {
    if (this.#writing === 'no') this.#socket.setTimeout(0)
    else this.#writing = 'watched'
  }

  /** The system tells of a socket that neither reads nor gets rid of a byte. */
  #stalled(): void {
    if (this.#writing !== 'watched') return
    // One that is held still on purpose is not to blame.
    if (this.#socket.writableCorked > 0) this.#socket.setTimeout(LIMIT.stall)
    else this.#stream.destroy()
  }
}

let tasks: (() => void)[] = []

/**
 * Does a task when what the event loop has read is worked off, together with all others of this turn: to be called back for
 * each of a thousand connections would take as long as to write a packet to them. A task that throws keeps none from its turn.
 *
 * @example
 * ```ts
 * atTurnEnd(() => outflow.flush())
 * ```
 */
export function runAtTurnEnd(task: () => void): void {
  if (tasks.length === 0) afterIo(doAll)
  tasks.push(task)
}

function doAll(): void {
  const due = tasks
  tasks = []
  let done = 0
  try {
    for (const task of due) {
      done++
      task()
    }
  } finally {
    // After an error: the others go on when it is dealt with.
    for (const task of due.slice(done)) runAtTurnEnd(task)
  }
}
