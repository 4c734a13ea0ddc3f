import { EventEmitter } from 'node:events'
import type { Client } from 'aedes'

/** aedes gives the packet ids up to this one, the fast path those above. */
export const LAST_AEDES_ID = 32_767

/** What we need to know of a client and aedes does not tell; its version is pinned. */
interface Internals {
  readonly _parser: EventEmitter & { readonly _stateCounter: number; readonly _list: { readonly length: number } }
  _nextBatch(error?: unknown): void
  _nextId: number
  _paused?: boolean
  readonly _keepaliveInterval: number
  readonly _keepaliveTimer: { refresh(): void } | null
  resume(): void
}

/**
 * aedes' side of a connection: how far it is with what it was given to read.
 *
 * @throws Error - when aedes is another one than we know
 */
export class AedesClient {
  readonly client: Client
  readonly #internals: Internals
  /** Packets that it read and is not done with. */
  #inWork = 0

  constructor(client: Client) {
    this.client = client
    this.#internals = internalsOf(client)
    this.#internals._parser.prependListener('packet', () => this.#inWork++)
    this.#countDone(this.#internals)
    keepLowIds(client, this.#internals._nextId)
  }

  /** Whether it is connected, speaks MQTT 5, and nothing was said to end it. */
  get ready(): boolean {
    return this.client.connected && this.client.version === 5 && !this.ending
  }

  /** Whether the connection is closed, or as good as closed: nothing may follow a DISCONNECT (MQTT 5.0, 3.14.4). */
  get ending(): boolean {
    return this.client.closed || this.client.disconnectReasonCode !== null || this.client.conn.destroyed
  }

  /** Whether it is done with everything it was given to read. */
  get idle(): boolean {
    const { _stateCounter, _list } = this.#internals._parser
    return this.#inWork === 0 && _stateCounter === 0 && _list.length === 0 && this.client.conn.readableLength === 0
  }

  /** The client has shown that it lives. */
  keepAlive(): void {
    if (this.#internals._keepaliveInterval > 0) this.#internals._keepaliveTimer?.refresh()
  }

  /** aedes calls this when it is done with a packet; `resume` calls it, too, and means something else. */
  #countDone(internals: Internals): void {
    const next = internals._nextBatch
    internals._nextBatch = error => {
      this.#inWork--
      next(error)
    }
    internals.resume = () => {
      internals._paused = false
      next()
    }
  }
}

function internalsOf(client: Client): Client & Internals {
  if (!isKnown(client)) throw new Error('This aedes is not the one that the broker knows')
  return client
}

function isKnown(client: Client): client is Client & Internals {
  const member = (name: string): unknown => Reflect.get(client, name)
  const parser = member('_parser')
  return (
    parser instanceof EventEmitter &&
    Reflect.get(parser, '_stateCounter') === 0 &&
    Object(Reflect.get(parser, '_list')).length === 0 &&
    typeof member('_nextBatch') === 'function' &&
    typeof member('resume') === 'function' &&
    typeof member('_nextId') === 'number' &&
    typeof member('_keepaliveInterval') === 'number' &&
    member('_keepaliveTimer') === null
  )
}

function keepLowIds(client: Client, first: number): void {
  let next = 1 + (first % LAST_AEDES_ID)
  Object.defineProperty(client, '_nextId', {
    get: () => next,
    set: (id: number) => {
      next = id > LAST_AEDES_ID ? 1 : id
    },
  })
}
