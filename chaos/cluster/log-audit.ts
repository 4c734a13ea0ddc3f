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
import { until } from '../random-interval.js'
import { Recorder } from '../recorder.js'
import type { Violations } from '../violations.js'
import { wholeLog } from './whole-log.js'

/** The time in ms that reading the remaining stream may take. */
const REST_TIMEOUT_MS = 20_000
/** The interval of the checks that detect a stalled subscription, as nodes do. */
const CHECK_INTERVAL_MS = 500
/** The number of checks without progress after which the stream is followed again. */
const MAX_STALLED_CHECKS = 3

type Stream = ObservedValueOf<ReturnType<ReturnType<typeof wholeLog>['connect']>>
type Message = ObservedValueOf<ReturnType<Stream['follow']>>

/**
 * Reads a store's log while it is written and before it is trimmed, without using any link. Saves the log to a file,
 * against which the results of the nodes are checked.
 */
export class LogAudit {
  #path
  #recorder: Recorder<LogRecord>
  #violations
  #position = 0
  #stream: Stream | undefined
  #stalled$ = new Subject<void>()
  #subscription = new Subscription()
  /** The position at the last check, and the number of checks without progress. */
  #lastPosition = 0
  #looks = 0
  #leader: string | undefined

  /** @param path - path of the file */
  constructor(path: string, violations: Violations) {
    this.#path = path
    this.#recorder = new Recorder<LogRecord>(path)
    this.#violations = violations
  }

  get path() {
    return this.#path
  }

  /** The position of the last message read. */
  get position() {
    return this.#position
  }

  /** The last known leader of the stream, if any. */
  get leader() {
    return this.#leader
  }

  /**
   * Starts to read the stream.
   *
   * @param name - name of the store
   * @param ports - ports of the servers
   */
  async start(name: string, ports: readonly number[]) {
    const servers = ports.map(port => `nats://127.0.0.1:${port}`)
    const stream = await firstValueFrom(wholeLog(jetStreamLog({ servers, name, nodeId: 'audit' })).connect())
    this.#stream = stream
    const messages$ = defer(() => stream.follow(this.#position)).pipe(retry({ delay: CHECK_INTERVAL_MS }))
    this.#subscription.add(
      this.#stalled$
        .pipe(
          startWith(undefined),
          switchMap(() => messages$),
        )
        .subscribe(message => this.#take(message)),
    )
    this.#subscription.add(interval(CHECK_INTERVAL_MS).subscribe(() => this.#look(stream)))
  }

  /** Reads the remaining stream, then stops. */
  async stop() {
    const stream = this.#stream
    if (stream === undefined) return
    const { last } = await firstValueFrom(stream.bounds())
    if (!(await until(REST_TIMEOUT_MS, () => this.#position >= last)))
      this.#violations.add('audit', `read only ${this.#position} of ${last} messages of the log`)
    this.#subscription.unsubscribe()
    await new Promise(resolve => stream.close().subscribe({ complete: () => resolve(undefined), error: resolve }))
    this.#recorder.close()
  }

  #take({ position, time, bytes }: Message) {
    if (position <= this.#position) return
    if (position > this.#position + 1)
      this.#violations.add('audit', `message ${position} of the log arrived after ${this.#position}`)
    this.#position = position
    this.#recorder.write([position, time, Buffer.from(bytes).toString('base64')])
  }

  #look(stream: Stream) {
    stream.bounds().subscribe({
      next: ({ last, leader }) => {
        this.#leader = leader
        this.#looks = this.#position === this.#lastPosition && this.#position < last ? this.#looks + 1 : 0
        this.#lastPosition = this.#position
        if (this.#looks < MAX_STALLED_CHECKS) return
        this.#looks = 0
        this.#stalled$.next()
      },
      // Without a leader there is no response. Some incidents cause that deliberately.
      error: () => {
        this.#leader = undefined
      },
    })
  }
}
