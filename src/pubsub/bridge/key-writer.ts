import { finalize, map, type Observable, Subscription } from 'rxjs'
import { bytes, encodeFor } from '../../client/keys/codec.js'
import type { Key } from '../../client/keys/key.js'
import type { SetOptions } from '../../client/keys/options.js'
import { HOST, type StoreView } from '../../client/keys/store-view.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import { ArgumentError, OutcomeUnknownError, reason, StateStoreError, TimeoutError } from '../../core/util/errors.js'
import type { UserEvent } from '../hub/user-event.js'
import { JsonText, memberText } from '../wire/json.js'
import type { CheckedBridgeOptions, WriteOperation } from './bridge-options.js'
import { exactJson } from './codecs.js'
import { versionMember } from './key-messages.js'
import { readKey, readWrite, type WriteRequest } from './write-request.js'
import { WriteTurns } from './write-turns.js'

interface WriteResult {
  readonly applied: boolean
  readonly version: Hlc | undefined
}

/** A write until its result is known. It omits the parsed value, which can be many times as large as its bytes. */
interface EncodedWrite {
  readonly key: string
  readonly id: WriteRequest['id']
  readonly options: SetOptions
  /** The value, or `undefined` for a delete. */
  readonly value: Uint8Array | undefined
}

/** The bytes that a pending write takes in the bridge, the client and the hub in addition to its text and value. */
const OVERHEAD_BYTES = 4_096
/**
 * The maximum bytes per character, times the copies of the value: one for a retry and one in the packet.
 */
const BYTES_PER_CHARACTER = 2
const COPIES = 2

export class KeyWriter {
  readonly #store: StoreView
  readonly #options: CheckedBridgeOptions
  readonly #report: (error: StateStoreError) => void
  readonly #pending = new PendingWrites()
  readonly #turns: WriteTurns

  constructor(store: StoreView, options: CheckedBridgeOptions, report: (error: StateStoreError) => void) {
    this.#store = store
    this.#options = options
    this.#report = report
    const { clock, timeout } = store[HOST]
    this.#turns = new WriteTurns(clock, timeout)
  }

  /** Handles an event if it is a write. Ignores other events, which are left to the application. */
  onEvent(event: UserEvent): void {
    const { prefix } = this.#options
    if (event.event === `${prefix}set`) this.#handle(event, 'set')
    else if (event.event === `${prefix}delete`) this.#handle(event, 'delete')
  }

  #handle(event: UserEvent, operation: WriteOperation): void {
    try {
      const key = readKey(event.json)
      if (!this.#isAllowed(event, key, operation)) {
        event.refuse('Forbidden', `The connection may not write key ${JSON.stringify(key)}`)
        return
      }
      // The JSON is parsed again, because `event.payload` would retain the parsed value until the result.
      const request = readWrite(operation, event.json === undefined ? undefined : JSON.parse(event.json))
      this.#write(event, this.#encode(event, operation, { ...request, key }))
    } catch (error) {
      reject(event, error)
    }
  }

  #encode(event: UserEvent, operation: WriteOperation, { key, value, options, id }: WriteRequest): EncodedWrite {
    const codec = this.#options.codecFor(key)
    if (operation === 'delete') return { key, id, options, value: undefined }
    return { key, id, options, value: encodeFor(key, codec, codec === exactJson ? valueText(event) : value) }
  }

  #write(event: UserEvent, pending: EncodedWrite): void {
    const target = this.#store.key(pending.key, bytes)
    let isSent = false
    const running = new Subscription()
    const { connectionId, owner } = event
    const cancel = (): void => {
      running.unsubscribe()
      const why = 'it was cancelled, as too many writes wait for the store'
      if (isSent) reject(event, new OutcomeUnknownError(why, pending.key))
      else event.refuse('overflow', `The write was not sent: ${why}`)
    }
    const write = { connectionId, owner, costBytes: costBytesOf(event, pending), cancel }
    if (!this.#pending.tryAdd(write)) {
      event.refuse('overflow', 'Too many pending writes of this connection or user: wait for results')
      return
    }
    running.add(() => this.#pending.remove(write))
    const begin = (timeout: number): void => {
      isSent = true
      const result$ = execute(target, pending, timeout).pipe(finalize(() => running.unsubscribe()))
      running.add(
        result$.subscribe({
          next: written => respond(event, pending, written),
          error: error => reject(event, error),
        }),
      )
    }
    const expired = (): void => {
      running.unsubscribe()
      const { timeout } = this.#store[HOST]
      reject(event, new TimeoutError(timeout, pending.key, undefined, 'earlier writes wait for the store'))
    }
    running.add(this.#turns.add({ owner, begin, expired }))
  }

  #isAllowed(event: UserEvent, key: string, operation: WriteOperation): boolean {
    try {
      // An untyped function may return a promise, which is not a permission.
      return this.#options.write(event, key, operation) === true
    } catch (cause) {
      this.#report(
        new ArgumentError(`\`write\` threw an error for key ${JSON.stringify(key)}: ${reason(cause)}`, { cause }),
      )
      return false
    }
  }
}

function execute(target: Key<Uint8Array>, write: EncodedWrite, timeout: number): Observable<WriteResult> {
  const { value } = write
  const options = { ...write.options, timeout }
  if (value !== undefined) return target.set(value, options)
  // A key that did not exist counts as deleted.
  return target.delete(options).pipe(map(({ version }) => ({ applied: true, version })))
}

/** Returns the JSON text of the value in a write. */
const valueText = ({ json = '' }: UserEvent): JsonText => new JsonText(memberText(json, 'value') ?? '')

function costBytesOf({ json = '' }: UserEvent, { key, value }: EncodedWrite): number {
  return OVERHEAD_BYTES + BYTES_PER_CHARACTER * (json.length + key.length) + COPIES * (value?.length ?? 0)
}

function respond(event: UserEvent, { key, id }: EncodedWrite, { applied, version }: WriteResult): void {
  if (!applied) event.refuse('NotApplied', `The condition did not hold: the key has version ${version ?? 'unknown'}`)
  else if (id === undefined) event.accept()
  else event.reply({ type: 'written', id, key, ...versionMember(version) })
}

function reject(event: UserEvent, error: unknown): void {
  if (error instanceof StateStoreError) event.refuse(error.code, error.message)
  else event.refuse('argument', reason(error))
}

const MAX_PENDING_BYTES = 128 * 1024 * 1024
const MAX_CONNECTION_BYTES = 16 * 1024 * 1024
const MAX_CONNECTION_WRITES = 1_000

export interface PendingWrite {
  readonly connectionId: string
  /** The owner: the user, or the address of an anonymous connection. */
  readonly owner: string
  readonly costBytes: number
  /** Cancels the write to make room for a write of another user. */
  readonly cancel: () => void
}

/** The pending writes of one user or connection, oldest first. */
class Usage {
  readonly writes = new Set<PendingWrite>()
  costBytes = 0
}

const NONE: Pick<Usage, 'costBytes'> & { readonly writes: ReadonlySet<PendingWrite> } = new Usage()

/**
 * Tracks writes without a result, which accumulate while the store is unreachable, and limits their cost in bytes. At
 * the limit, the user with the highest cost loses its newest writes, unless the new write belongs to the same user.
 *
 * @example
 * ```ts
 * if (pending.tryAdd(write))
 *   result$.pipe(finalize(() => pending.remove(write))).subscribe()
 * ```
 */
export class PendingWrites {
  readonly #maxCostBytes: number
  readonly #byConnection = new Map<string, Usage>()
  readonly #byUser = new Map<string, Usage>()
  #costBytes = 0

  constructor(maxCost: number = MAX_PENDING_BYTES) {
    this.#maxCostBytes = maxCost
  }

  get costBytes(): number {
    return this.#costBytes
  }

  tryAdd(write: PendingWrite): boolean {
    const { writes, costBytes } = this.#byConnection.get(write.connectionId) ?? NONE
    if (writes.size >= MAX_CONNECTION_WRITES || costBytes + write.costBytes > MAX_CONNECTION_BYTES) return false
    if (!this.#makeRoom(write)) return false
    this.#costBytes += write.costBytes
    add(this.#byConnection, write.connectionId, write)
    add(this.#byUser, write.owner, write)
    return true
  }

  remove(write: PendingWrite): void {
    if (!this.#byConnection.get(write.connectionId)?.writes.has(write)) return
    this.#costBytes -= write.costBytes
    remove(this.#byConnection, write.connectionId, write)
    remove(this.#byUser, write.owner, write)
  }

  #makeRoom(write: PendingWrite): boolean {
    while (this.#costBytes + write.costBytes > this.#maxCostBytes) {
      const heaviest = this.#heaviest()
      const ownUsage = this.#byUser.get(write.owner) ?? NONE
      if (heaviest.costBytes <= ownUsage.costBytes + write.costBytes) return false
      const newest = Array.from(heaviest.writes).at(-1)
      if (newest === undefined) return false
      this.remove(newest)
      newest.cancel()
    }
    return true
  }

  #heaviest(): typeof NONE {
    let heaviest: typeof NONE = NONE
    for (const usage of this.#byUser.values()) if (usage.costBytes > heaviest.costBytes) heaviest = usage
    return heaviest
  }
}

function add(usages: Map<string, Usage>, owner: string, write: PendingWrite): void {
  const usage = usages.get(owner) ?? new Usage()
  usages.set(owner, usage)
  usage.writes.add(write)
  usage.costBytes += write.costBytes
}

function remove(usages: Map<string, Usage>, owner: string, write: PendingWrite): void {
  const usage = usages.get(owner)
  if (!usage?.writes.delete(write)) return
  usage.costBytes -= write.costBytes
  if (usage.writes.size === 0) usages.delete(owner)
}
