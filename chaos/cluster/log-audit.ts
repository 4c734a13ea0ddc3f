import { jetStreamLog } from 'rx-statestore/jetstream'
import { defer, firstValueFrom, interval, type ObservedValueOf, retry, Subscription, timeout } from 'rxjs'
import type { LogRecord } from '../../harness/judges/replay.js'
import type { Violations } from '../../harness/judges/violations.js'
import { until } from '../random-interval.js'
import { Recorder } from '../recorder.js'
import { wholeLog } from '../whole-log.js'

/** The time in ms that reading the remaining stream may take. */
const REST_TIMEOUT_MS = 20_000
const LEADER_CHECK_MS = 500
/** The time in ms without a message after which the stream is followed again, because the subscription may stall. */
const STALL_TIMEOUT_MS = 1_500

type Stream = ObservedValueOf<ReturnType<ReturnType<typeof wholeLog>['connect']>>
type Message = ObservedValueOf<ReturnType<Stream['follow']>>

/**
 * Reads a store's log while it is written and before it is trimmed, without using any link. Saves the log to a file,
 * against which the results of the nodes are checked.
 */
export class LogAudit {
  /** The position of the last message read. */
  position = 0
  /** The last known leader of the stream, if any. */
  leader: string | undefined
  #recorder: Recorder<LogRecord>
  #violations
  #stream: Stream | undefined
  #subscription = new Subscription()

  /** @param path - path of the file */
  constructor(path: string, violations: Violations) {
    this.#recorder = new Recorder<LogRecord>(path)
    this.#violations = violations
  }

  /** Reads the saved messages. */
  read() {
    return this.#recorder.read()
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
    const messages$ = defer(() => stream.follow(this.position)).pipe(
      timeout(STALL_TIMEOUT_MS),
      retry({ delay: LEADER_CHECK_MS }),
    )
    this.#subscription.add(messages$.subscribe(message => this.#record(message)))
    this.#subscription.add(interval(LEADER_CHECK_MS).subscribe(() => this.#findLeader(stream)))
  }

  /** Reads the remaining stream, then stops. */
  async stop() {
    const stream = this.#stream
    if (stream === undefined) return
    const { last } = await firstValueFrom(stream.bounds())
    if (!(await until(REST_TIMEOUT_MS, () => this.position >= last)))
      this.#violations.add('audit', `read only ${this.position} of ${last} messages of the log`)
    this.#subscription.unsubscribe()
    await new Promise(resolve => stream.close().subscribe({ complete: () => resolve(undefined), error: resolve }))
    this.#recorder.close()
  }

  #record({ position, time, bytes }: Message) {
    if (position <= this.position) return
    if (position > this.position + 1)
      this.#violations.add('audit', `message ${position} of the log arrived after ${this.position}`)
    this.position = position
    this.#recorder.write({ position, time, base64: Buffer.from(bytes).toString('base64') })
  }

  #findLeader(stream: Stream) {
    stream.bounds().subscribe({
      next: ({ leader }) => {
        this.leader = leader
      },
      // Without a leader there is no response. Some incidents cause that deliberately.
      error: () => {
        this.leader = undefined
      },
    })
  }
}
