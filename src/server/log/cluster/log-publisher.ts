import { createHmac, randomBytes } from 'node:crypto'
import type { Subscription } from 'rxjs'
import { backoff } from '../../../core/util/backoff.js'
import type { Clock } from '../../../core/util/clock.js'
import { Fifo } from '../../../core/util/collections.js'
import type { LogEntry } from '../../engine/entry.js'
import type { Kind } from './node-message.js'
import type { Publication, Stream } from './stream.js'

/** Something to send. */
export interface PendingMessage {
  readonly kind: Kind
  readonly body: Uint8Array
  /** The entry of which it is the last message. */
  readonly entry?: LogEntry | undefined
}

/** A message that was sent, and is not seen yet. */
interface Flight extends PendingMessage {
  readonly number: number
  /** When it was sent first, monotonic ms. */
  readonly since: number
  /** How often it was seen out of order: the stream remembers it, and would not take it again as the same. */
  attempt: number
  /** What had been seen of the stream when it was published first, as this attempt. */
  after: number
  publication: Subscription | undefined
}

/** A life of this node, and what of it is on its way. */
interface Life {
  readonly id: string
  readonly messageIds: MessageIds
  readonly flights: Fifo<Flight>
}

/** What a sender needs. */
export interface LogPublisherHost {
  readonly clock: Clock
  readonly random: () => number
  readonly nodeId: string
  /** The bytes of a message, as things are now. */
  seal(parcel: PendingMessage, life: string, number: number): Uint8Array
  /** Of the last message that was seen in the stream. */
  readonly position: () => number
  /** A message is in the stream, at a position. */
  stored(position: number): void
  /** What is new to the stream came to a position that has been seen: it is not the stream that it was. */
  rolledBack(position: number): void
  troubled(error: unknown): void
}

/** Most messages on their way. */
export const WINDOW = 16
/** What was seen out of order is sent again soon, and what got no answer later, ms. */
const RETRY = { initial: 20, max: 1_000 }

/**
 * Sends the messages of a node in their order, up to 16 at a time, and again until they are seen. What a message comes to is
 * seen in the stream alone; its answer says no more than that it need not be sent again soon.
 */
export class LogPublisher {
  readonly #stream: Stream
  readonly #host: LogPublisherHost
  readonly #queue = new Fifo<PendingMessage>()
  /** The last one is lived; of those before it something may be in the stream yet. */
  #lives: Life[] = []
  #number = 1
  #failures = 0
  #cancel: (() => void) | undefined
  #stopped = false

  constructor(stream: Stream, host: LogPublisherHost) {
    this.#stream = stream
    this.#host = host
  }

  /** The life that is lived. */
  get life(): string {
    return this.#lives.at(-1)?.id ?? ''
  }

  /** Whether its first message was seen. */
  get established(): boolean {
    return this.#lives.length === 1 && this.#lives[0]?.flights.peek()?.kind !== 'start'
  }

  /** Whether the first message of any of its lives was seen. */
  get hasLived(): boolean {
    return this.#lives.length > 1 || this.established
  }

  /** Whether nothing is on its way. */
  get idle(): boolean {
    return this.#queue.length === 0 && this.#lives.every(({ flights }) => flights.length === 0)
  }

  /** For how long the oldest message is on its way, ms. */
  get late(): number {
    const oldest = this.#lives.at(-1)?.flights.peek()
    return oldest === undefined ? 0 : this.#host.clock.monotonic() - oldest.since
  }

  /** Begins another life. What waits is sent in that; what is on its way is not sent any more. */
  begin(life: string): void {
    for (const { flights } of this.#lives) for (const flight of all(flights)) flight.publication?.unsubscribe()
    this.#giveUpRest()
    const waiting = all(this.#queue)
    this.#queue.clear()
    this.#lives.push({ id: life, messageIds: messageIds(), flights: new Fifo() })
    this.#number = 1
    this.#queue.push({ kind: 'start', body: new Uint8Array(0) })
    for (const parcel of waiting) this.#queue.push(parcel)
    this.#fly()
  }

  /** Sends in turn. */
  push(parcel: PendingMessage): void {
    this.#queue.push(parcel)
    this.#fly()
  }

  /** Whether a life is one of this sender's. */
  knows(life: string): boolean {
    return this.#lives.some(({ id }) => id === life)
  }

  /** A message of ours counts: what it was; and entries that will never be there, as their life is over. */
  taken(
    life: string,
    number: number,
  ): { readonly parcel: PendingMessage | undefined; readonly over: readonly LogEntry[] } {
    const at = this.#lives.findIndex(({ id }) => id === life)
    const over = this.#lives.slice(0, at).flatMap(({ flights }) => entriesOf(flights))
    this.#lives = this.#lives.slice(at)
    const flights = this.#lives[0]?.flights
    if (flights?.peek()?.number !== number) return { parcel: undefined, over }
    const parcel = flights.shift()
    parcel?.publication?.unsubscribe()
    this.#failures = 0
    this.#fly()
    return { parcel, over }
  }

  /** A message of ours was seen out of order. */
  refused(life: string, number: number): void {
    if (life !== this.life) return
    const flight = all(this.#lives.at(-1)?.flights).find(each => each.number === number)
    if (flight !== undefined) this.#again(flight)
  }

  /** Sends nothing any more; returns the entries of which nobody knows what becomes. */
  stop(): LogEntry[] {
    this.#stopped = true
    this.#cancel?.()
    const unknown = this.#lives.flatMap(({ flights }) => {
      for (const flight of all(flights)) flight.publication?.unsubscribe()
      return entriesOf(flights)
    })
    this.#lives = []
    return [...unknown, ...entriesOf(this.#queue)]
  }

  /** What an entry lacks of which pieces are on their way goes with them: the next life begins with a whole one. */
  #giveUpRest(): void {
    const flights = this.#lives.at(-1)?.flights
    let last: PendingMessage | undefined = all(flights).at(-1)
    while (flights !== undefined && last?.kind === 'piece') {
      last = this.#queue.shift()
      if (last !== undefined)
        flights.push({ ...last, number: 0, since: 0, attempt: 0, after: 0, publication: undefined })
    }
  }

  #fly(): void {
    const life = this.#lives.at(-1)
    while (!this.#stopped && life !== undefined && life.flights.length < WINDOW) {
      const parcel = this.#queue.shift()
      if (parcel === undefined) return
      const since = this.#host.clock.monotonic()
      const first = { number: this.#number++, since, attempt: 0, after: this.#host.position() }
      const flight: Flight = { ...parcel, ...first, publication: undefined }
      life.flights.push(flight)
      // What comes behind something that is to be sent again would be refused.
      if (this.#cancel === undefined) this.#publish(life, flight)
    }
  }

  #publish({ id, messageIds }: Life, flight: Flight): void {
    const bytes = this.#host.seal(flight, id, flight.number)
    flight.publication?.unsubscribe()
    const { attempt } = flight
    flight.publication = this.#stream.publish(bytes, messageIds(flight.number, attempt)).subscribe({
      next: publication => {
        // Else it was seen out of order before its answer came.
        if (attempt === flight.attempt) this.#stored(flight, publication)
      },
      error: error => this.#failed(error),
    })
  }

  #stored(flight: Flight, { position, isDuplicate }: Publication): void {
    if (!isDuplicate && position <= flight.after) this.#host.rolledBack(position)
    // Its id was used up by another message: what was seen up to that position is not on its way any more.
    else if (isDuplicate && position <= this.#host.position()) this.#again(flight)
    else {
      this.#host.stored(position)
      // It is that of this message if it is seen before it is sent again.
      if (isDuplicate) this.#later()
    }
  }

  #again(flight: Flight): void {
    flight.attempt++
    flight.after = this.#host.position()
    this.#later()
  }

  #failed(error: unknown): void {
    this.#host.troubled(error)
    this.#later()
  }

  /** Everything that is on its way is sent again, in order. */
  #later(): void {
    if (this.#stopped || this.#cancel !== undefined) return
    const delay = backoff(++this.#failures, { ...RETRY, random: this.#host.random })
    this.#cancel = this.#host.clock.schedule(delay, () => {
      this.#cancel = undefined
      const life = this.#lives.at(-1)
      if (life !== undefined) for (const flight of all(life.flights)) this.#publish(life, flight)
    })
  }
}

const all = <T>(items: Fifo<T> | undefined): T[] => Array.from(items ?? [])

const entriesOf = (parcels: Fifo<PendingMessage>): LogEntry[] =>
  all(parcels).flatMap(({ entry }) => (entry === undefined ? [] : [entry]))

/** The id of a message by which a stream recognises it, by its number and attempt. */
export type MessageIds = (number: number, attempt: number) => string

/**
 * Returns the ids of the messages of one life. A stream drops a message whose id it has had: so no one who may publish can
 * know the next ones from what is in the stream. The key never leaves the process.
 */
export function messageIds(key: Uint8Array = randomBytes(32)): MessageIds {
  return (number, attempt) => createHmac('sha256', key).update(`${number}:${attempt}`).digest('base64url').slice(0, 22)
}
