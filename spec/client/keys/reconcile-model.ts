import type { ReadResult } from '../../../src/client/requests/commands.js'
import { reconcile } from '../../../src/client/watch/reconcile.js'
import { INITIAL, type NotifiedChange, type RawEntry, type WatchEvent } from '../../../src/client/watch/watch-state.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { utf8 } from '../../../src/core/util/bytes.js'

/** Properties of the modelled broker and store. */
export interface ModelKind {
  readonly identifiers: boolean
  readonly positions: boolean
  /** Stores that lost their data may reuse versions. */
  readonly collisions: boolean
}

/** The next event; `n` resolves its random choices. */
export interface ModelStep {
  readonly type: 'set' | 'delete' | 'serve' | 'answer' | 'notify' | 'cut' | 'loseData' | 'rejoin'
  readonly n: number
}

interface Happened {
  readonly change: NotifiedChange
  readonly place: number
}

const RATHER_MANY = 1_000

/**
 * A store, a broker and one watch, with as few versions as possible, so that a random walk reaches rare states.
 * Responses and notifications overtake each other; notifications of the key keep their order.
 */
export class ReconcileModel {
  readonly #kind: ModelKind
  readonly #history: Happened[] = []
  #life = 0
  #version = 0
  #stored: Happened | undefined
  #registered = false
  #connection = 0
  #fresh = true
  #queue: (Happened & { readonly connection: number })[] = []
  #request: 'KEYNOTIFY' | 'GET' | undefined
  #answer: WatchEvent | undefined
  #state = INITIAL
  #ended = false
  shown: RawEntry[] = []

  constructor(kind: ModelKind) {
    this.#kind = kind
    this.#connect(true)
  }

  do({ type, n }: ModelStep): void {
    if (type === 'set') this.#write('set')
    else if (type === 'delete') this.#write('delete')
    else if (type === 'serve') this.#serve()
    else if (type === 'answer') this.#deliverAnswer()
    else if (type === 'notify') this.#deliverNotification()
    else if (type === 'rejoin') this.#rejoin()
    else {
      this.#disconnect()
      // In attached mode, the model only writes without notifying.
      if (type === 'loseData') this.#loseData(n)
      this.#connect(n % 3 === 0)
    }
  }

  /** Delivers everything. Returns the number of requests, or too many. */
  drain(): number {
    let steps = 0
    while ((this.#request || this.#answer || this.#queue.length > 0) && steps < RATHER_MANY) {
      steps++
      this.#serve()
      this.#deliverNotification()
      this.#deliverAnswer()
    }
    return steps
  }

  /** The shown and the actual state, in comparable form. */
  get standing(): { readonly shown: string; readonly truth: string } {
    const entry = this.#state.entry
    const shown = entry?.op === 'set' ? `${entry.version} ${entry.value}` : entry && 'nothing'
    const truth = this.#stored ? `${this.#stored.change.version} ${this.#stored.change.value}` : 'nothing'
    return { shown: `${shown} ${this.#state.phase}`, truth: `${truth} live` }
  }

  /** Positions of the emitted entries among all changes. */
  get places(): number[] {
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
    const version = new Hlc(++this.#version, this.#kind.collisions ? 0 : this.#life, 'S')
    const place = this.#history.length
    const change: NotifiedChange = { op, value: op === 'set' ? utf8(`v${place}`) : undefined, version }
    const happened = { change, place }
    this.#history.push(happened)
    this.#stored = op === 'set' ? happened : undefined
    if (this.#registered) this.#queue.push({ ...happened, connection: this.#connection })
  }

  #serve(): void {
    if (this.#request === undefined || this.#answer !== undefined) return
    if (this.#request === 'KEYNOTIFY') this.#registered = true
    this.#answer = this.#request === 'KEYNOTIFY' ? { type: 'registered' } : { type: 'read', reading: this.#read() }
  }

  #read(): ReadResult {
    if (this.#stored) return { value: this.#stored.change.value, version: this.#stored.change.version }
    const last = new Hlc(this.#version, this.#kind.collisions ? 0 : this.#life, 'S')
    return { value: undefined, version: this.#kind.positions ? last : undefined }
  }

  #deliverAnswer(): void {
    const answer = this.#answer
    if (answer === undefined) return
    this.#answer = undefined
    this.#request = undefined
    this.#step(answer)
  }

  #deliverNotification(): void {
    const next = this.#queue.shift()
    if (next === undefined) return
    const isOfThis = next.connection === this.#connection
    const certain = this.#fresh || (this.#kind.identifiers && isOfThis)
    if (this.#kind.identifiers && !isOfThis && !this.#fresh) return
    this.#step({ type: 'notified', change: next.change, certain })
  }

  #rejoin(): void {
    this.#registered = false
    this.#ended = true
    this.#begin()
  }

  #disconnect(): void {
    this.#registered = false
    this.#request = undefined
    this.#answer = undefined
    this.#step({ type: 'disconnected' })
  }

  #connect(fresh: boolean): void {
    this.#connection++
    this.#fresh = fresh
    this.#ended = false
    if (fresh) this.#queue = []
    this.#step({ type: 'connected', rejoined: false })
  }

  #loseData(version: number): void {
    this.#life++
    this.#version = version
    this.#stored = undefined
  }

  #begin(): void {
    this.#state = INITIAL
    this.shown = []
    this.#request = undefined
    this.#answer = undefined
    this.#step({ type: 'connected', rejoined: this.#ended })
  }

  #step(event: WatchEvent): void {
    const { state, emit, send } = reconcile(this.#state, event)
    this.#state = state
    this.shown.push(...emit)
    if (send) this.#request = send
  }
}
