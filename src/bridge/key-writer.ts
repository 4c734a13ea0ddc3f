import { map, type Observable } from 'rxjs'
import { ArgumentError, reason, StateStoreError } from '../base/errors.js'
import type { Hlc } from '../hlc/hlc.js'
import type { StoreView } from '../keys/store-view.js'
import type { UserEvent } from '../pubsub/hub/user-event.js'
import { memberText } from '../pubsub/wire/json-scan.js'
import { JsonText } from '../pubsub/wire/json-text.js'
import type { CheckedBridgeOptions, WriteOperation } from './bridge-options.js'
import { exactJson } from './exact-json.js'
import { versionMember } from './key-messages.js'
import { readWrite, type WriteRequest } from './write-request.js'

interface Written {
  readonly applied: boolean
  readonly version: Hlc | undefined
}

/** Does what clients ask for with events, and answers. */
export class KeyWriter {
  readonly #store: StoreView
  readonly #options: CheckedBridgeOptions
  readonly #report: (error: StateStoreError) => void

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
      const { dataType, data } = event.payload
      const request = readWrite(operation, dataType === 'json' ? data : undefined)
      if (this.#mayWrite(event, request.key, operation)) this.#write(event, operation, request)
      else event.refuse('Forbidden', `The connection may not write key ${JSON.stringify(request.key)}`)
    } catch (error) {
      refuse(event, error)
    }
  }

  #write(event: UserEvent, operation: WriteOperation, request: WriteRequest): void {
    this.#done(event, operation, request).subscribe({
      next: written => answer(event, request, written),
      error: error => refuse(event, error),
    })
  }

  #done(event: UserEvent, operation: WriteOperation, { key, value, options }: WriteRequest): Observable<Written> {
    const codec = this.#options.codecOf(key)
    const target = this.#store.key(key, codec)
    if (operation === 'set') return target.set(codec === exactJson ? asWritten(event) : value, options)
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

function answer(event: UserEvent, { key, id }: WriteRequest, { applied, version }: Written): void {
  if (!applied) event.refuse('NotApplied', `The condition did not hold; version ${version ?? 'unknown'} is in the way`)
  else if (id === undefined) event.accept()
  else event.reply({ type: 'written', id, key, ...versionMember(version) })
}

function refuse(event: UserEvent, error: unknown): void {
  if (error instanceof StateStoreError) event.refuse(error.code, error.message)
  else event.refuse('argument', reason(error))
}
