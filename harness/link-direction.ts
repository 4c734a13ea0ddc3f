import type { Socket } from 'node:net'
import type { Random } from './random.js'

export interface LinkConditions {
  isStalled: boolean
  bytesPerTick: number
  /** whether data is split into pieces of a few bytes */
  isSplit: boolean
}

const TICK_MS = 10
const MAX_QUEUED_BYTES = 1024 * 1024

export const normalConditions = (): LinkConditions => ({
  isStalled: false,
  bytesPerTick: Number.POSITIVE_INFINITY,
  isSplit: false,
})

/** Returns what is forwarded of a chunk. Code after a piece runs when the piece has been queued. */
export type Inspector = (chunk: Buffer) => Iterable<Buffer>

const forwardAll: Inspector = chunk => [chunk]

/** One direction of a connection, with its queued bytes. */
export class LinkDirection {
  #source
  #target
  #conditions
  #random
  #queue: Buffer[] = []
  #queuedBytes = 0
  #hasEnded = false
  #isClosed = false
  #isBlocked = false
  #isFinished = false
  #isHeld = false
  #cancel: (() => void) | undefined

  /** @param conditions - conditions of the link; callers must call {@link forward} when they change */
  constructor(
    source: Socket,
    target: Socket,
    conditions: LinkConditions,
    random: Random,
    inspect: Inspector = forwardAll,
  ) {
    this.#source = source
    this.#target = target
    this.#conditions = conditions
    this.#random = random
    source.on('data', chunk => {
      for (const piece of inspect(chunk)) this.#enqueue(piece)
    })
    source.on('end', () => {
      this.#hasEnded = true
      this.forward()
    })
    // On a stalled link, as with a pulled cable, neither side notices that the other side has closed.
    source.on('close', () => {
      this.#isClosed = true
      this.forward()
    })
    target.on('drain', () => {
      this.#isBlocked = false
      this.forward()
    })
    target.on('close', () => this.#discard())
  }

  /** Forwards as many bytes as the conditions permit. */
  forward() {
    if (this.#cancel || this.#isBlocked) return
    const { isStalled, bytesPerTick, isSplit } = this.#conditions
    if (isStalled || this.#isHeld) return
    for (let chunk = this.#queue.shift(); chunk; chunk = this.#queue.shift()) {
      const length = Math.min(chunk.length, bytesPerTick, isSplit ? this.#random.int(1, 24) : chunk.length)
      if (length < chunk.length) this.#queue.unshift(chunk.subarray(length))
      this.#queuedBytes -= length
      if (this.#target.writable) this.#isBlocked = !this.#target.write(chunk.subarray(0, length))
      if (this.#isBlocked) return
      if (bytesPerTick !== Number.POSITIVE_INFINITY) return this.#schedule(setTimeout, clearTimeout)
      if (isSplit) return this.#schedule(setImmediate, clearImmediate)
    }
    if (this.#source.isPaused()) this.#source.resume()
    if (this.#isFinished) return
    this.#isFinished = this.#isClosed
    if (this.#isClosed) this.#target.destroySoon()
    else if (this.#hasEnded) this.#target.end()
  }

  setHeld(isHeld: boolean) {
    this.#isHeld = isHeld
    this.forward()
  }

  /** Leaves the target open when the source closes. */
  abandon() {
    this.#isFinished = true
  }

  #enqueue(chunk: Buffer) {
    if (this.#target.destroyed) return
    this.#queue.push(chunk)
    this.#queuedBytes += chunk.length
    if (this.#queuedBytes > MAX_QUEUED_BYTES) this.#source.pause()
    this.forward()
  }

  #schedule<T>(schedule: (task: () => void, ms: number) => T, cancel: (handle: T) => void) {
    const handle = schedule(() => {
      this.#cancel = undefined
      this.forward()
    }, TICK_MS)
    this.#cancel = () => cancel(handle)
  }

  #discard() {
    this.#cancel?.()
    this.#cancel = undefined
    this.#queue = []
    this.#queuedBytes = 0
    this.#source.resume()
  }
}
