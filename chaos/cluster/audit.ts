import { jetStreamLog } from 'rx-statestore/jetstream'
import {
  defer,
  firstValueFrom,
  interval,
  type ObservedValueOf,
  retry,
  Subject,
  Subscription,
  startWith,
  switchMap,
} from 'rxjs'
import type { LogRecord } from '../../spec/judges/replay.js'
import type { Complaints } from '../complaints.js'
import { until } from '../pace.js'
import { Recorder } from '../recorder.js'
import { wholeLog } from './whole-log.js'

/** How long the rest of the stream may take, ms. */
const PATIENCE = 20_000
/** A stream that stalls is found out by looking at it, as nodes do, ms. */
const LOOK = 500
/** One of which something is known to be there, and that brings nothing for so many looks, is followed again. */
const MAX_LOOKS = 3

type Stream = ObservedValueOf<ReturnType<ReturnType<typeof wholeLog>['connect']>>
type Message = ObservedValueOf<ReturnType<Stream['follow']>>

/**
 * Reads the log of a store while it is written, and before it is trimmed, past all cables, and keeps it in a file: what the
 * nodes did has to be what it comes to.
 */
export class Audit {
  #path
  #recorder: Recorder<LogRecord>
  #complaints
  #position = 0
  #stream: Stream | undefined
  #stalled$ = new Subject<void>()
  #subscription = new Subscription()
  /** Where it was at the last look, and for how many looks it has been there. */
  #seen = 0
  #looks = 0
  #leader: string | undefined

  /** @param path - of the file */
  constructor(path: string, complaints: Complaints) {
    this.#path = path
    this.#recorder = new Recorder<LogRecord>(path)
    this.#complaints = complaints
  }

  get path() {
    return this.#path
  }

  /** How far it has come, in messages. */
  get position() {
    return this.#position
  }

  /** Who led the stream when it was asked last. */
  get leader() {
    return this.#leader
  }

  /**
   * @param name - of the store
   * @param ports - of the servers
   */
  async start(name: string, ports: readonly number[]) {
    const servers = ports.map(port => `nats://127.0.0.1:${port}`)
    const stream = await firstValueFrom(wholeLog(jetStreamLog({ servers, name, nodeId: 'audit' })).connect())
    this.#stream = stream
    const messages$ = defer(() => stream.follow(this.#position)).pipe(retry({ delay: LOOK }))
    this.#subscription.add(
      this.#stalled$
        .pipe(
          startWith(undefined),
          switchMap(() => messages$),
        )
        .subscribe(message => this.#take(message)),
    )
    this.#subscription.add(interval(LOOK).subscribe(() => this.#look(stream)))
  }

  /** Reads the rest, and ends. */
  async stop() {
    const stream = this.#stream
    if (stream === undefined) return
    const { last } = await firstValueFrom(stream.bounds())
    if (!(await until(PATIENCE, () => this.#position >= last)))
      this.#complaints.add('audit', `read ${this.#position} of ${last} messages of the log`)
    this.#subscription.unsubscribe()
    await new Promise(resolve => stream.close().subscribe({ complete: () => resolve(undefined), error: resolve }))
    this.#recorder.close()
  }

  #take({ position, time, bytes }: Message) {
    if (position <= this.#position) return
    if (position > this.#position + 1)
      this.#complaints.add('audit', `message ${position} of the log came behind ${this.#position}`)
    this.#position = position
    this.#recorder.write([position, time, Buffer.from(bytes).toString('base64')])
  }

  #look(stream: Stream) {
    stream.bounds().subscribe({
      next: ({ last, leader }) => {
        this.#leader = leader
        this.#looks = this.#position === this.#seen && this.#position < last ? this.#looks + 1 : 0
        this.#seen = this.#position
        if (this.#looks < MAX_LOOKS) return
        this.#looks = 0
        this.#stalled$.next()
      },
      // Without a leader nobody answers; that is what incidents are for.
      error: () => {
        this.#leader = undefined
      },
    })
  }
}
