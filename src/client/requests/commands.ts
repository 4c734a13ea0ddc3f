import { Observable } from 'rxjs'
import { type Hlc, HlcClock } from '../../core/hlc/hlc.js'
import { type Command, encodeCommand, type KeyName, type SetCondition } from '../../core/protocol/commands.js'
import { PROPERTY, PROTOCOL_VERSION, positionOf, versionOf } from '../../core/protocol/properties.js'
import {
  type Page,
  readConditional,
  readDeleted,
  readPage,
  readValue,
  readWatched,
} from '../../core/protocol/replies.js'
import { displayText } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { HlcError, PayloadError, StateStoreError } from '../../core/util/errors.js'
import type { Invoker } from './invoker.js'
import type { RpcInquiry, RpcReply } from './request.js'

/** Commands that may be sent twice. */
const REPEATABLE: readonly Command['verb'][] = ['GET', 'KEYNOTIFY', 'GLOBNOTIFY', 'SCAN']

/** What a read found. */
export interface Found {
  readonly value: Uint8Array
  /** `undefined` only from a store that leaves it out. */
  readonly version: Hlc | undefined
}

/** What a read told. */
export interface Reading {
  /** `undefined` when there is no such key. */
  readonly value: Uint8Array | undefined
  /** Of the value; without one the last version the store has given to any key, if it says so. */
  readonly version: Hlc | undefined
}

/** What a conditional write came to, with the version the store answered. */
export interface Written {
  readonly applied: boolean
  readonly version: Hlc | undefined
}

/** How a SET is to be done. */
export interface WriteOptions {
  readonly condition?: SetCondition | undefined
  /** Time to live, ms. */
  readonly px?: number | undefined
  readonly fencingToken?: Hlc | undefined
  /** Ask the broker to keep the key on disk. */
  readonly persist?: boolean | undefined
}

/** How a command is sent. */
interface Terms extends Pick<WriteOptions, 'fencingToken' | 'persist'> {
  /** What it is about, if that is one key. */
  readonly key?: KeyName
  readonly timeout: number
}

/**
 * The commands of the state store as cold observables of one result: nothing is sent before somebody subscribes, and
 * unsubscribing forgets the request. Timeouts are in ms.
 */
export class StoreCommands {
  readonly #invoker: Invoker
  readonly #clock: Clock
  readonly #nodeId: string
  readonly #commonProperties: Readonly<Record<string, string>>
  #hlc: HlcClock

  constructor(invoker: Invoker, clock: Clock, clientId: string) {
    this.#invoker = invoker
    this.#clock = clock
    this.#commonProperties = {
      [PROPERTY.sourceId]: clientId,
      [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
      [PROPERTY.partition]: clientId,
      [PROPERTY.highPriority]: '',
    }
    this.#nodeId = clientId.replaceAll(':', '_') || 'client'
    this.#hlc = new HlcClock(this.#nodeId)
  }

  /** GET: the value, or `undefined` when there is no such key. */
  get(key: KeyName, timeout: number): Observable<Found | undefined> {
    return this.#invoke({ verb: 'GET', key: key.bytes }, { key, timeout }, (payload, version) => {
      const value = readValue(payload, key.text)
      return value && { value, version }
    })
  }

  /** GET, with the place of an answer that there is no such key. */
  read(key: KeyName, timeout: number): Observable<Reading> {
    return this.#invoke({ verb: 'GET', key: key.bytes }, { key, timeout }, (payload, version, reply) => {
      const value = readValue(payload, key.text)
      return { value, version: value ? version : positionOf(reply) }
    })
  }

  /** SET. A refused condition is a result, not an error. */
  set(key: KeyName, value: Uint8Array, options: WriteOptions, timeout: number): Observable<Written> {
    const { condition, px, fencingToken, persist } = options
    const command = { verb: 'SET', key: key.bytes, value, condition, px } as const
    return this.#invoke(command, { key, timeout, fencingToken, persist }, (payload, version) => ({
      applied: readConditional(payload, key.text) === 'applied',
      version,
    }))
  }

  /** DEL: whether there was a key to delete. */
  delete(key: KeyName, fencingToken: Hlc | undefined, timeout: number): Observable<Written> {
    return this.#invoke({ verb: 'DEL', key: key.bytes }, { key, timeout, fencingToken }, (payload, version) => ({
      applied: readDeleted(payload, key.text),
      version,
    }))
  }

  /** VDEL: deletes the key if it holds the value. */
  deleteIf(key: KeyName, value: Uint8Array, fencingToken: Hlc | undefined, timeout: number): Observable<Written> {
    const command = { verb: 'VDEL', key: key.bytes, value } as const
    return this.#invoke(command, { key, timeout, fencingToken }, (payload, version) => ({
      applied: readConditional(payload, key.text) === 'applied',
      version,
    }))
  }

  /** KEYNOTIFY, or its STOP: whether the key was watched before that. */
  notify(key: KeyName, stop: boolean, timeout: number): Observable<boolean> {
    return this.#invoke({ verb: 'KEYNOTIFY', key: key.bytes, stop }, { key, timeout }, payload =>
      readWatched(payload, key.text),
    )
  }

  /**
   * GLOBNOTIFY, or its STOP: the last version the store had given by then, if it says so. Of our store alone; others answer
   * `unknown-command`.
   */
  notifyGlob(glob: Uint8Array, stop: boolean, timeout: number): Observable<Hlc | undefined> {
    return this.#invoke({ verb: 'GLOBNOTIFY', glob, stop }, { timeout }, (payload, _, reply) => {
      readWatched(payload, displayText(glob))
      return positionOf(reply)
    })
  }

  /** SCAN: a page of the keys that fit a glob, the first or the one after `token`. */
  scan(glob: Uint8Array, token: Uint8Array | undefined, timeout: number): Observable<Page> {
    return this.#invoke({ verb: 'SCAN', glob, token }, { timeout }, readPage)
  }

  #invoke<T>(
    command: Command,
    terms: Terms,
    read: (payload: Uint8Array, version: Hlc | undefined, reply: RpcReply) => T,
  ): Observable<T> {
    const { key, timeout } = terms
    const repeatable = REPEATABLE.includes(command.verb)
    return new Observable<T>(subscriber =>
      this.#invoker.send({
        key: key?.text,
        payload: encodeCommand(command),
        timeout,
        repeatable,
        subject: key?.id,
        inquiry: key && !repeatable ? () => this.#inquiryOf(key) : undefined,
        commonProperties: this.#commonProperties,
        userProperties: () => this.#properties(terms),
        succeeded: reply => {
          const result = attempt(() => read(reply.payload, versionOf(reply), reply))
          if ('error' in result) {
            subscriber.error(result.error)
            return
          }
          subscriber.next(result.value)
          subscriber.complete()
        },
        failed: error => subscriber.error(error),
      }),
    )
  }

  #inquiryOf({ bytes }: KeyName): RpcInquiry {
    return { payload: encodeCommand({ verb: 'GET', key: bytes }), userProperties: () => this.#properties({}) }
  }

  #properties({ fencingToken, persist }: Pick<WriteOptions, 'fencingToken' | 'persist'>): Record<string, string> {
    const properties: Record<string, string> = { [PROPERTY.timestamp]: String(this.#timestamp()) }
    if (fencingToken) properties[PROPERTY.fencingToken] = String(fencingToken)
    if (persist) properties[PROPERTY.persist] = 'true'
    return properties
  }

  #timestamp(): Hlc {
    try {
      return this.#hlc.tick(this.#clock.now())
    } catch (error) {
      if (!(error instanceof HlcError)) throw error
      // The wall clock was set back by more than the drift. The store orders by its own clock; it only asks that ours is near.
      this.#hlc = new HlcClock(this.#nodeId)
      return this.#hlc.tick(this.#clock.now())
    }
  }
}

// A bug in here must surface as itself, not inside the MQTT client's message handler.
function attempt<T>(run: () => T): { value: T } | { error: StateStoreError } {
  try {
    return { value: run() }
  } catch (error) {
    return {
      error: error instanceof StateStoreError ? error : new PayloadError('The answer cannot be read', { cause: error }),
    }
  }
}
