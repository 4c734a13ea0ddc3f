import type { ReadResult } from '../../../src/client/requests/commands.js'
import { reconcile } from '../../../src/client/watch/reconcile.js'
import { INITIAL, type NotifiedChange, type RawEntry, type WatchEvent } from '../../../src/client/watch/watch-state.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { utf8 } from '../../../src/core/util/bytes.js'

/** The properties of the modelled broker and store. */
export interface ModelKind {
  readonly identifiers: boolean
  readonly positions: boolean
  /** Whether a store that lost its data may reuse versions. */
  readonly collisions: boolean
}

/** The next event, where `n` resolves its random choices. */
export interface ModelStep {
  readonly type: 'set' | 'delete' | 'serve' | 'answer' | 'notify' | 'cut' | 'loseData' | 'rejoin'
  readonly n: number
}

interface HistoryEntry {
  readonly change: NotifiedChange
  readonly position: number
}

const MAX_DRAIN_STEPS = 1_000

/**
 * A model of a store, a broker and one watch. It has as few versions as possible, so that a random walk reaches rare
 * states. Responses and notifications overtake each other, but notifications of the key keep their order.
 */
export class ReconcileModel {
  readonly #kind: ModelKind
  readonly #history: HistoryEntry[] = []
  #instance = 0
  #version = 0
  #stored: HistoryEntry | undefined
  #isRegistered = false
  #connection = 0
  #isNewSession = true
  #queue: (HistoryEntry & { readonly connection: number })[] = []
  #request: 'KEYNOTIFY' | 'GET' | undefined
  #response: WatchEvent | undefined
  #state = INITIAL
  #hasEndedWatch = false
  shown: RawEntry[] = []

  constructor(kind: ModelKind) {
    this.#kind = kind
    this.#connect(true)
  }

  apply({ type, n }: ModelStep): void {
    if (type === 'set') this.#write('set')
    else if (type === 'delete') this.#write('delete')
    else if (type === 'serve') this.#serve()
    else if (type === 'answer') this.#deliverResponse()
    else if (type === 'notify') this.#deliverNotification()
    else if (type === 'rejoin') this.#rejoin()
    else {
      this.#disconnect()
      // In attached mode, this step is a write without a notification.
      if (type === 'loseData') this.#loseData(n)
      this.#connect(n % 3 === 0)
    }
  }

  /** Delivers all pending messages. Returns the number of steps, at most `MAX_DRAIN_STEPS`. */
  drain(): number {
    let steps = 0
    while ((this.#request || this.#response || this.#queue.length > 0) && steps < MAX_DRAIN_STEPS) {
      steps++
      this.#serve()
      this.#deliverNotification()
      this.#deliverResponse()
    }
    return steps
  }

  /** The state that the watch shows and the actual state, in comparable form. */
  get comparableStates(): { readonly shown: string; readonly truth: string } {
    const entry = this.#state.entry
    const shown = entry?.op === 'set' ? `${entry.version} ${entry.value}` : entry && 'nothing'
    const truth = this.#stored ? `${this.#stored.change.version} ${this.#stored.change.value}` : 'nothing'
    return { shown: `${shown} ${this.#state.phase}`, truth: `${truth} live` }
  }

  /** The positions of the emitted entries among all changes. */
  get positions(): number[] {
    return this.shown
      .filter(({ version }) => version !== undefined)
      .map(({ op, value, version }) =>
        this.#history.findIndex(
          ({ change }) => change.op === op && change.version === version && String(change.value) === String(value),
        ),
      )
  }

  #write(op: 'set' | 'delete'): void {
    if (op === 'delete' && this.#stored === undefined) return
    const version = new Hlc(++this.#version, this.#kind.collisions ? 0 : this.#instance, 'S')
    const position = this.#history.length
    const change: NotifiedChange = { op, value: op === 'set' ? utf8(`v${position}`) : undefined, version }
    const entry = { change, position }
    this.#history.push(entry)
    this.#stored = op === 'set' ? entry : undefined
    if (this.#isRegistered) this.#queue.push({ ...entry, connection: this.#connection })
  }

  #serve(): void {
    if (this.#request === undefined || this.#response !== undefined) return
    if (this.#request === 'KEYNOTIFY') this.#isRegistered = true
    this.#response = this.#request === 'KEYNOTIFY' ? { type: 'registered' } : { type: 'read', reading: this.#read() }
  }

  #read(): ReadResult {
    if (this.#stored) return { value: this.#stored.change.value, version: this.#stored.change.version }
    const last = new Hlc(this.#version, this.#kind.collisions ? 0 : this.#instance, 'S')
    return { value: undefined, version: this.#kind.positions ? last : undefined }
  }

  #deliverResponse(): void {
    const response = this.#response
    if (response === undefined) return
    this.#response = undefined
    this.#request = undefined
    this.#step(response)
  }

  #deliverNotification(): void {
    const next = this.#queue.shift()
    if (next === undefined) return
    const isCurrentConnection = next.connection === this.#connection
    const certain = this.#isNewSession || (this.#kind.identifiers && isCurrentConnection)
    if (this.#kind.identifiers && !isCurrentConnection && !this.#isNewSession) return
    this.#step({ type: 'notified', change: next.change, certain })
  }

  #rejoin(): void {
    this.#isRegistered = false
    this.#hasEndedWatch = true
    this.#begin()
  }

  #disconnect(): void {
    this.#isRegistered = false
    this.#request = undefined
    this.#response = undefined
    this.#step({ type: 'disconnected' })
  }

  #connect(isNewSession: boolean): void {
    this.#connection++
    this.#isNewSession = isNewSession
    this.#hasEndedWatch = false
    if (isNewSession) this.#queue = []
    this.#step({ type: 'connected', rejoined: false })
  }

  #loseData(version: number): void {
    this.#instance++
    this.#version = version
    this.#stored = undefined
  }

  #begin(): void {
    this.#state = INITIAL
    this.shown = []
    this.#request = undefined
    this.#response = undefined
    this.#step({ type: 'connected', rejoined: this.#hasEndedWatch })
  }

  #step(event: WatchEvent): void {
    const { state, emit, send } = reconcile(this.#state, event)
    this.#state = state
    this.shown.push(...emit)
    if (send) this.#request = send
  }
}
