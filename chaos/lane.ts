import type { Socket } from 'node:net'
import type { Random } from './random.js'

/** Conditions of one direction of a link. */
export interface Weather {
  stalled: boolean
  /** bytes per tick */
  rate: number
  /** whether data is split into pieces of a few bytes */
  split: boolean
}

const TICK = 10
const MOST_WAITING = 1024 * 1024

export const fairWeather = (): Weather => ({ stalled: false, rate: Number.POSITIVE_INFINITY, split: false })

/** One direction of a connection, with its queued bytes. */
export class Lane {
  #source
  #target
  #weather
  #random
  #waiting: Buffer[] = []
  #size = 0
  #ended = false
  #gone = false
  #blocked = false
  #over = false
  #cancel: (() => void) | undefined

  /** @param weather - of the link; call {@link flow} when it changes */
  constructor(source: Socket, target: Socket, weather: Weather, random: Random) {
    this.#source = source
    this.#target = target
    this.#weather = weather
    this.#random = random
    source.on('data', chunk => this.#take(chunk))
    source.on('end', () => {
      this.#ended = true
      this.flow()
    })
    // On a stalled link, as with a pulled cable, neither side notices that the other has closed.
    source.on('close', () => {
      this.#gone = true
      this.flow()
    })
    target.on('drain', () => {
      this.#blocked = false
      this.flow()
    })
    target.on('close', () => this.#discard())
  }

  /** Forwards as many bytes as the conditions permit. */
  flow() {
    if (this.#cancel || this.#blocked) return
    const { stalled, rate, split } = this.#weather
    if (stalled) return
    for (let chunk = this.#waiting.shift(); chunk; chunk = this.#waiting.shift()) {
      const length = Math.min(chunk.length, rate, split ? this.#random.int(1, 24) : chunk.length)
      if (length < chunk.length) this.#waiting.unshift(chunk.subarray(length))
      this.#size -= length
      if (this.#target.writable) this.#blocked = !this.#target.write(chunk.subarray(0, length))
      if (this.#blocked) return
      if (rate !== Number.POSITIVE_INFINITY) return this.#later(setTimeout, clearTimeout)
      if (split) return this.#later(setImmediate, clearImmediate)
    }
    if (this.#source.isPaused()) this.#source.resume()
    if (this.#over) return
    this.#over = this.#gone
    if (this.#gone) this.#target.destroySoon()
    else if (this.#ended) this.#target.end()
  }

  #take(chunk: Buffer) {
    if (this.#target.destroyed) return
    this.#waiting.push(chunk)
    this.#size += chunk.length
    if (this.#size > MOST_WAITING) this.#source.pause()
    this.flow()
  }

  #later<T>(schedule: (task: () => void, ms: number) => T, cancel: (handle: T) => void) {
    const handle = schedule(() => {
      this.#cancel = undefined
      this.flow()
    }, TICK)
    this.#cancel = () => cancel(handle)
  }

  #discard() {
    this.#cancel?.()
    this.#cancel = undefined
    this.#waiting = []
    this.#size = 0
    this.#source.resume()
  }
}
