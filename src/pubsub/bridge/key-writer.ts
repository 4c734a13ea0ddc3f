import { finalize, map, type Observable, Subscription } from 'rxjs'
import { bytes, encodeFor } from '../../client/keys/codec.js'
import type { SetOptions } from '../../client/keys/options.js'
import type { StoreView } from '../../client/keys/store-view.js'
import type { Hlc } from '../../core/hlc/hlc.js'
import { ArgumentError, OutcomeUnknownError, reason, StateStoreError } from '../../core/util/errors.js'
import type { UserEvent } from '../hub/user-event.js'
import { memberText } from '../wire/json-scan.js'
import { JsonText } from '../wire/json-text.js'
import type { CheckedBridgeOptions, WriteOperation } from './bridge-options.js'
import { exactJson } from './exact-json.js'
import { versionMember } from './key-messages.js'
import { PendingWrites } from './pending-writes.js'
import { readWrite, type WriteRequest } from './write-request.js'

interface Written {
  readonly applied: boolean
  readonly version: Hlc | undefined
}

/** A write as it is kept until it has a result: without the value as JavaScript has it, which can be many times as large. */
interface Pending {
  readonly key: string
  readonly id: WriteRequest['id']
  readonly options: SetOptions
  /** Missing for a delete. */
  readonly value: Uint8Array | undefined
}

/** What a pending write takes besides its text and its bytes, in bridge, client and hub, bytes. */
const OVERHEAD = 4_096
/** A character of its text takes so many bytes at most, and each byte of its value is there twice: for its retry, and as a packet. */
const BYTES_PER_CHARACTER = 2
const COPIES = 2

/** Does what clients ask for with events, and answers. */
export class KeyWriter {
  readonly #store: StoreView
  readonly #options: CheckedBridgeOptions
  readonly #report: (error: StateStoreError) => void
  readonly #pending = new PendingWrites()

  constructor(store: StoreView, options: CheckedBridgeOptions, report: (error: StateStoreError) => void) {
    this.#store = store
    this.#options = options
    this.#report = report
  }

  /** Takes an event if it is a write; any other is left to the application. */
  take(event: UserEvent): void {
    const { prefix } = this.#options
    if (event.event === `${prefix}set`) this.#handle(event, 'set')
    else if (event.event === `${prefix}delete`) this.#handle(event, 'delete')
  }

  #handle(event: UserEvent, operation: WriteOperation): void {
    try {
      // Not by the payload of the event, which would keep what was parsed until there is a result.
      const request = readWrite(operation, event.json === undefined ? undefined : JSON.parse(event.json))
      if (this.#mayWrite(event, request.key, operation)) this.#write(event, this.#encoded(event, operation, request))
      else event.refuse('Forbidden', `The connection may not write key ${JSON.stringify(request.key)}`)
    } catch (error) {
      refuse(event, error)
    }
  }

  #encoded(event: UserEvent, operation: WriteOperation, { key, value, options, id }: WriteRequest): Pending {
    const codec = this.#options.codecOf(key)
    if (operation === 'delete') return { key, id, options, value: undefined }
    return { key, id, options, value: encodeFor(key, codec, codec === exactJson ? asWritten(event) : value) }
  }

  #write(event: UserEvent, pending: Pending): void {
    // Raises an error for what is malformed, before anything is counted.
    const result$ = this.#done(pending)
    const running = new Subscription()
    const { connectionId, owner } = event
    const cancel = (): void => {
      running.unsubscribe()
      refuse(event, new OutcomeUnknownError('it was given up, as too much waits for the store', pending.key))
    }
    const write = { connectionId, owner, cost: costOf(event, pending), cancel }
    if (!this.#pending.tryAdd(write)) {
      event.refuse('overflow', 'Too many writes of this connection or user have no result yet: wait for some of them')
      return
    }
    running.add(() => this.#pending.remove(write))
    running.add(
      result$.pipe(finalize(() => running.unsubscribe())).subscribe({
        next: written => answer(event, pending, written),
        error: error => refuse(event, error),
      }),
    )
  }

  #done({ key, value, options }: Pending): Observable<Written> {
    const target = this.#store.key(key, bytes)
    if (value !== undefined) return target.set(value, options)
    // A key that did not exist counts as deleted.
    return target.delete(options).pipe(map(({ version }) => ({ applied: true, version })))
  }

  #mayWrite(event: UserEvent, key: string, operation: WriteOperation): boolean {
    try {
      // A promise, which JavaScript may return, is not a permission.
      return this.#options.write(event, key, operation) === true
    } catch (cause) {
      this.#report(
        new ArgumentError(`\`write\` raised an error for key ${JSON.stringify(key)}: ${reason(cause)}`, { cause }),
      )
      return false
    }
  }
}

/** The value of a write that was found to have one. */
const asWritten = ({ json = '' }: UserEvent): JsonText => new JsonText(memberText(json, 'value') ?? '')

function costOf({ json = '' }: UserEvent, { key, value }: Pending): number {
  return OVERHEAD + BYTES_PER_CHARACTER * (json.length + key.length) + COPIES * (value?.length ?? 0)
}

function answer(event: UserEvent, { key, id }: Pending, { applied, version }: Written): void {
  if (!applied) event.refuse('NotApplied', `The condition did not hold; version ${version ?? 'unknown'} is in the way`)
  else if (id === undefined) event.accept()
  else event.reply({ type: 'written', id, key, ...versionMember(version) })
}

function refuse(event: UserEvent, error: unknown): void {
  if (error instanceof StateStoreError) event.refuse(error.code, error.message)
  else event.refuse('argument', reason(error))
}
