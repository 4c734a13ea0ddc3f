import { Observable } from 'rxjs'
import { requestChannel } from '../../core/diagnostics/client-channels.js'
import type { RequestTrace } from '../../core/diagnostics/client-events.js'
import { type Hlc, HlcClock } from '../../core/hlc/hlc.js'
import { userPropertyFilter } from '../../core/mqtt5/user-properties.js'
import { type Command, encodeCommand, type KeyName, type SetCondition } from '../../core/protocol/commands.js'
import { PROPERTY, PROTOCOL_VERSION, readPosition, readVersion } from '../../core/protocol/properties.js'
import {
  readConditional,
  readDeleted,
  readPage,
  readValue,
  readWatched,
  type ScanPage,
} from '../../core/protocol/replies.js'
import { displayText } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { PayloadError, StateStoreError } from '../../core/util/errors.js'
import type { Invoker } from './invoker.js'
import type { RpcInquiry, RpcResponse } from './request.js'
import { type ResultObserver, sendTraced } from './traced-request.js'

const REPEATABLE: readonly Command['verb'][] = ['GET', 'KEYNOTIFY', 'GLOBNOTIFY', 'SCAN']

export interface StoredValue {
  readonly value: Uint8Array
  /** Version of the value; `undefined` if the store does not send versions. */
  readonly version: Hlc | undefined
}

export interface ReadResult {
  /** The value; `undefined` if the key does not exist. */
  readonly value: Uint8Array | undefined
  /**
   * Version of the value. For a missing key, the latest version that the store has assigned to any key, if the store
   * sends it.
   */
  readonly version: Hlc | undefined
}

export interface WriteResult {
  readonly applied: boolean
  readonly version: Hlc | undefined
}

export interface WriteOptions {
  readonly condition?: SetCondition | undefined
  /** Time to live, ms. */
  readonly px?: number | undefined
  readonly fencingToken?: Hlc | undefined
  /** Whether the broker persists the key to disk. */
  readonly persist?: boolean | undefined
  /** Whether the write fails with `connection-lost` if the connection is lost before the write is sent. */
  readonly isBoundToConnection?: boolean | undefined
  /** Called when the write leaves the queue of requests, after which unsubscribing cannot recall it. */
  readonly sent?: (() => void) | undefined
}

interface CommandOptions extends Pick<WriteOptions, 'fencingToken' | 'persist' | 'isBoundToConnection' | 'sent'> {
  /** The key of a command for a single key. */
  readonly key?: KeyName
  readonly timeout: number
}

/**
 * The commands of the state store as cold observables of one result: subscribing sends the request, and unsubscribing
 * drops its result. Timeouts are in ms.
 */
export class StoreCommands {
  readonly #invoker: Invoker
  readonly #clock: Clock
  readonly #clientId: string
  readonly #nodeId: string
  readonly #onAssigned: (version: Hlc) => void
  readonly #filterProperties: ReturnType<typeof userPropertyFilter>
  readonly #commonProperties: Readonly<Record<string, string>>
  #hlc: HlcClock

  /**
   * @param onAssigned - called with each version that the store assigned to a value of this client
   * @param report - receives errors that do not fail a request
   */
  constructor(
    invoker: Invoker,
    clock: Clock,
    clientId: string,
    onAssigned: (version: Hlc) => void,
    report: (error: StateStoreError) => void,
  ) {
    this.#invoker = invoker
    this.#filterProperties = userPropertyFilter(report)
    this.#onAssigned = onAssigned
    this.#clock = clock
    this.#clientId = clientId
    this.#commonProperties = {
      [PROPERTY.sourceId]: clientId,
      [PROPERTY.protocolVersion]: PROTOCOL_VERSION,
      [PROPERTY.partition]: clientId,
      [PROPERTY.highPriority]: '',
    }
    this.#nodeId = clientId.replaceAll(':', '_') || 'client'
    this.#hlc = new HlcClock(this.#nodeId)
  }

  /** Returns the error of a request that was not sent within `timeout` ms, with the connection's state. */
  unsentError(key: KeyName, timeout: number): StateStoreError {
    return this.#invoker.unsentError(timeout, key.text)
  }

  /** GET: emits the value, or `undefined` if the key does not exist. */
  get(key: KeyName, timeout: number): Observable<StoredValue | undefined> {
    return this.#invoke({ verb: 'GET', key: key.bytes }, { key, timeout }, (payload, version) => {
      const value = readValue(payload, key.text)
      return value && { value, version }
    })
  }

  /** GET: also emits the position of a missing key. */
  read(key: KeyName, timeout: number): Observable<ReadResult> {
    return this.#invoke({ verb: 'GET', key: key.bytes }, { key, timeout }, (payload, version, reply) => {
      const value = readValue(payload, key.text)
      return { value, version: value ? version : readPosition(reply) }
    })
  }

  /** SET: emits an unmet condition as a result, not as an error. */
  set(key: KeyName, value: Uint8Array, options: WriteOptions, timeout: number): Observable<WriteResult> {
    const { condition, px, ...commandOptions } = options
    const command = { verb: 'SET', key: key.bytes, value, condition, px } as const
    return this.#invoke(command, { key, timeout, ...commandOptions }, (payload, version) => {
      const applied = readConditional(payload, key.text) === 'applied'
      if (applied && version) this.#onAssigned(version)
      return { applied, version }
    })
  }

  /** DEL: emits whether the key existed. */
  delete(key: KeyName, fencingToken: Hlc | undefined, timeout: number): Observable<WriteResult> {
    return this.#invoke({ verb: 'DEL', key: key.bytes }, { key, timeout, fencingToken }, (payload, version) => ({
      applied: readDeleted(payload, key.text),
      version,
    }))
  }

  /** VDEL: deletes the key if it has the given value. */
  deleteIf(key: KeyName, value: Uint8Array, fencingToken: Hlc | undefined, timeout: number): Observable<WriteResult> {
    const command = { verb: 'VDEL', key: key.bytes, value } as const
    return this.#invoke(command, { key, timeout, fencingToken }, (payload, version) => ({
      applied: readConditional(payload, key.text) === 'applied',
      version,
    }))
  }

  /** KEYNOTIFY or its STOP: emits whether the key was already registered. */
  notify(key: KeyName, stop: boolean, timeout: number): Observable<boolean> {
    return this.#invoke({ verb: 'KEYNOTIFY', key: key.bytes, stop }, { key, timeout }, payload =>
      readWatched(payload, key.text),
    )
  }

  /**
   * GLOBNOTIFY or its STOP: emits the store's latest version, if the store sends one. Only the store of this package
   * supports GLOBNOTIFY; others respond with `unknown-command`.
   */
  notifyGlob(glob: Uint8Array, stop: boolean, timeout: number): Observable<Hlc | undefined> {
    return this.#invoke({ verb: 'GLOBNOTIFY', glob, stop }, { timeout }, (payload, _, reply) => {
      readWatched(payload, displayText(glob))
      return readPosition(reply)
    })
  }

  /** SCAN: emits a page of the keys that match a glob, which is the first page or the one after `token`. */
  scan(glob: Uint8Array, token: Uint8Array | undefined, timeout: number): Observable<ScanPage> {
    return this.#invoke({ verb: 'SCAN', glob, token }, { timeout }, readPage)
  }

  #invoke<T>(
    command: Command,
    options: CommandOptions,
    read: (payload: Uint8Array, version: Hlc | undefined, reply: RpcResponse) => T,
  ): Observable<T> {
    const { key, timeout } = options
    const isRepeatable = REPEATABLE.includes(command.verb)
    const send = (observer: ResultObserver<T>, trace?: RequestTrace): (() => void) => {
      const properties = trace && this.#filterProperties(trace.properties)
      return this.#invoker.send({
        key: key?.text,
        payload: encodeCommand(command),
        timeout,
        isRepeatable,
        isBoundToConnection: options.isBoundToConnection,
        sent: options.sent,
        subject: key?.id,
        inquiry: key && !isRepeatable ? () => this.#createInquiry(key) : undefined,
        commonProperties: this.#commonProperties,
        userProperties: () => ({ ...properties, ...(isRepeatable ? undefined : this.#requestProperties(options)) }),
        succeeded: reply => {
          const result = tryDecode(() => read(reply.payload, readVersion(reply), reply))
          if ('error' in result) {
            observer.error(result.error)
            return
          }
          observer.next(result.value)
          observer.complete()
        },
        failed: error => observer.error(error),
      })
    }
    return new Observable<T>(subscriber => {
      if (!requestChannel.hasSubscribers) return send(subscriber)
      const { url } = this.#invoker
      const glob = 'glob' in command ? displayText(command.glob) : undefined
      return sendTraced({ clientId: this.#clientId, url, verb: command.verb, key: key?.text, glob }, subscriber, send)
    })
  }

  #createInquiry({ bytes }: KeyName): RpcInquiry {
    return { payload: encodeCommand({ verb: 'GET', key: bytes }), userProperties: () => ({}) }
  }

  // Reads have no timestamp, because the protocol does not require one, and a store would refuse one of a wrong clock.
  #requestProperties({
    fencingToken,
    persist,
  }: Pick<WriteOptions, 'fencingToken' | 'persist'>): Record<string, string> {
    const properties: Record<string, string> = { [PROPERTY.timestamp]: String(this.#timestamp()) }
    if (fencingToken) properties[PROPERTY.fencingToken] = String(fencingToken)
    if (persist) properties[PROPERTY.persist] = 'true'
    return properties
  }

  #timestamp(): Hlc {
    try {
      return this.#hlc.tick(this.#clock.now())
    } catch {
      // The wall clock was set back by more than the allowed drift. The store orders by its own clock and only requires
      // the client's clock to be close to it.
      this.#hlc = new HlcClock(this.#nodeId)
      return this.#hlc.tick(this.#clock.now())
    }
  }
}

// Other errors are bugs. They are wrapped, so that they do not surface in the message handler of the MQTT client.
function tryDecode<T>(run: () => T): { value: T } | { error: StateStoreError } {
  try {
    return { value: run() }
  } catch (error) {
    return {
      error:
        error instanceof StateStoreError ? error : new PayloadError('The response cannot be read', { cause: error }),
    }
  }
}
