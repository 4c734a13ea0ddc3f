import { type Applied, type Change, Engine } from '../../src/server/engine/engine.js'
import type { LogEntry } from '../../src/server/engine/entry.js'
import type { Held } from '../judges/convergence.js'

/** A change that the store made. */
export interface Happened {
  readonly key: string
  readonly op: 'set' | 'delete'
  readonly value: string | undefined
  readonly version: string
  /** The store instance; increases when data is lost. */
  readonly life: number
  /** ms since the start. */
  readonly at: number
}

/** All changes of all store instances of a simulation, in order. */
export class History {
  readonly all: Happened[] = []
  readonly #places = new Map<string, number>()
  readonly #now: () => number
  life = 0

  /** @param now - ms since the start, for simulations that need the times of changes */
  constructor(now: () => number = () => 0) {
    this.#now = now
  }

  /** Records a change, unless another node has made it before. Returns its position. */
  note({ key, notification, version }: Change): number {
    const name = `${this.life} ${version}`
    const known = this.#places.get(name)
    if (known !== undefined) return known
    this.#places.set(name, this.all.length)
    const value = notification.op === 'set' && notification.value ? text(notification.value) : undefined
    const what = { key: text(key), op: notification.op, value, version: String(version) }
    return this.all.push({ ...what, life: this.life, at: this.#now() }) - 1
  }

  /** Positions of the changes of a key with a version; several if instances that lost their data reused it. */
  placesOf(key: string, version: string): number[] {
    const places: number[] = []
    for (let life = 0; life <= this.life; life++) {
      const place = this.#places.get(`${life} ${version}`)
      if (place !== undefined && this.all[place]?.key === key) places.push(place)
    }
    return places
  }

  /** Position of the change with a version, by the latest instance that used it. */
  placeOf(version: string): number | undefined {
    for (let life = this.life; life >= 0; life--) {
      const place = this.#places.get(`${life} ${version}`)
      if (place !== undefined) return place
    }
    return undefined
  }

  /** Changes of a key from one position up to, but not including, another. */
  between(key: string, from: number, to: number): Happened[] {
    return this.all.slice(from, to).filter(change => change.key === key)
  }
}

/** The shipped engine, recorded by the history. */
export class RecordedEngine<C> extends Engine<C> {
  readonly #history: History
  readonly #silentExpiry: boolean
  /** Position in the history that it has reached. */
  place = 0

  /** @param silentExpiry - expired keys are not notified */
  constructor(history: History, silentExpiry: boolean) {
    super()
    this.#history = history
    this.#silentExpiry = silentExpiry
  }

  override *apply(entry: LogEntry): Generator<Applied, void> {
    for (const result of super.apply(entry)) {
      for (const change of result.changes) this.place = Math.max(this.place, this.#history.note(change) + 1)
      if (result.type !== 'expired' || !this.#silentExpiry) yield result
    }
  }
}

const decoder = new TextDecoder()
const text = (bytes: Uint8Array): string => decoder.decode(bytes)

/** Returns the state of a key in a store. */
export function heldBy(engine: Pick<Engine<never>, 'peek'>, key: string): Held {
  const record = engine.peek(new TextEncoder().encode(key))
  return record ? { op: 'set', value: text(record.value), version: record.version } : { op: 'absent' }
}
