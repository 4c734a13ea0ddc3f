import { Observable, type Subscriber, type Subscription } from 'rxjs'
import type { Clock } from '../../../core/util/clock.js'
import { StateStoreError } from '../../../core/util/errors.js'
import { Engine, type EngineOptions } from '../../engine/engine.js'
import { holeError } from './errors.js'
import type { MessageJudge } from './message-judge.js'
import { ReplicatedLog } from './replicated-log.js'
import type { LogEvents, LogSettings } from './settings.js'
import { type LoadedNode, loadLatest } from './snapshot-writer.js'
import { type Hole, type Stream, StreamError } from './stream.js'

/** A node that has caught up and takes part in the log. */
export interface OpenedNode<C> {
  readonly engine: Engine<C>
  readonly log: ReplicatedLog
  readonly judge: MessageJudge
}

export interface OpenNodeOptions<C> {
  readonly limits: EngineOptions<C>
  readonly settings: LogSettings
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Returns a new random id. */
  readonly newEpochId: () => string
  readonly countClients: () => number
  /** Receives the log's events after it is open. */
  readonly events: LogEvents
  /** Called with the progress, in positions. */
  readonly onProgress?: ((progress: { readonly read: number; readonly of: number }) => void) | undefined
  /** The time in ms without a message after which opening fails. Default: 30,000. */
  readonly silenceTimeoutMs?: number | undefined
}

/** The number of attempts overtaken by trimming after which opening fails. */
const MAX_ATTEMPTS = 10
const RETRY_DELAY_MS = 500
/** The number of attempts without an intact snapshot after which opening fails. */
const MAX_DAMAGED_READS = 4
/** The number of times that the node meets a hole before it assumes that all replicas have the hole. */
const MAX_HOLES = 5

/**
 * Opens a node. The node loads the newest intact snapshot, follows the stream to its end, and takes part in a new
 * epoch. Emits when the node has caught up and its first message is in the log. Retries unanswered requests. Fails with
 * `damaged`, `format`, `log-key`, `diverged` or `superseded`, and with `timeout` if no messages arrive.
 */
export const openNode = <C>(stream: Stream, options: OpenNodeOptions<C>): Observable<OpenedNode<C>> =>
  new Observable(subscriber => {
    const opening = new NodeOpener(stream, options, subscriber)
    opening.start()
    return () => opening.stop()
  })

const isDamage = (error: unknown): boolean =>
  error instanceof StateStoreError && (error.code === 'damaged' || error.code === 'format')

class NodeOpener<C> {
  readonly #stream: Stream
  readonly #options: OpenNodeOptions<C>
  readonly #subscriber: Subscriber<OpenedNode<C>>
  #loading: Subscription | undefined
  #log: ReplicatedLog | undefined
  #cancel: () => void = () => undefined
  #cancelRetry: () => void = () => undefined
  #lastError: unknown
  #attempts = 0
  #damagedReads = 0
  /**
   * The phase of opening. The node reads the log to its end, joins, and is open when its first message is in the log.
   */
  #phase: 'reading' | 'joining' | 'open' = 'reading'

  constructor(stream: Stream, options: OpenNodeOptions<C>, subscriber: Subscriber<OpenedNode<C>>) {
    this.#stream = stream
    this.#options = options
    this.#subscriber = subscriber
  }

  start(): void {
    this.#extendDeadline()
    this.#attempts++
    this.#phase = 'reading'
    this.#load()
  }

  /** Cancels the opening, or cleans up after the opening. */
  stop(): void {
    this.#cancel()
    this.#cancelRetry()
    this.#loading?.unsubscribe()
    if (this.#phase !== 'open') this.#log?.stop()
  }

  #load(): void {
    const createEngine = (judge: MessageJudge): Engine<C> =>
      new Engine<C>({ ...this.#options.limits, onResult: result => judge.digest.addResult(result) })
    this.#loading = loadLatest(this.#stream, this.#options.settings, createEngine, () =>
      this.#extendDeadline(),
    ).subscribe({
      next: loaded => this.#follow(loaded),
      error: error => this.#handleLoadError(error),
    })
  }

  /**
   * Retries transient errors, because a node that gave up would not recover without an operator. A server that is being
   * elected leader does not respond yet. While the node reads a damaged snapshot, a newer snapshot may replace the
   * earlier intact snapshot.
   */
  #handleLoadError(error: unknown): void {
    const isLost = error instanceof StreamError && error.problem === 'lost'
    if (!isLost && (!isDamage(error) || ++this.#damagedReads >= MAX_DAMAGED_READS)) {
      this.#fail(error)
      return
    }
    const { clock, events } = this.#options
    this.#lastError = error
    events.onError(error)
    this.#cancelRetry = clock.schedule(RETRY_DELAY_MS, () => this.#load())
  }

  #follow({ engine, judge, streamEnd }: LoadedNode<Engine<C>>): void {
    const { settings, clock, random, newEpochId, countClients, events } = this.#options
    const log = new ReplicatedLog(this.#stream, judge, settings, {
      clock,
      random,
      newEpochId,
      countClients,
      capture: () => engine.capture(),
      apply: entry => engine.replay(entry),
      onAvailability: (availability, cause) => {
        if (this.#phase === 'open') events.onAvailability(availability, cause)
      },
      onOutrun: hole => (this.#phase === 'open' ? events.onOutrun(hole) : this.#restart(hole)),
      onFailed: error => (this.#phase === 'open' ? events.onFailed(error) : this.#fail(error)),
      onError: error => events.onError(error),
    })
    this.#log = log
    const onProgress = (): void => this.#advance(log, engine, judge, streamEnd)
    log.follow(streamEnd, onProgress)
    onProgress()
  }

  #advance(log: ReplicatedLog, engine: Engine<C>, judge: MessageJudge, streamEnd: number): void {
    if (this.#phase === 'open' || log !== this.#log) return
    this.#extendDeadline()
    this.#options.onProgress?.({ read: judge.position, of: Math.max(streamEnd, judge.position) })
    if (this.#phase === 'reading' && judge.position >= streamEnd) {
      this.#phase = 'joining'
      log.startEpoch(this.#options.newEpochId())
    }
    if (this.#phase === 'reading' || !log.isEstablished) return
    this.#phase = 'open'
    this.#cancel()
    this.#subscriber.next({ engine, log, judge })
    this.#subscriber.complete()
  }

  #restart(hole: Hole | undefined): void {
    this.#log = undefined
    // After the delay, another server may lead the stream, or a later snapshot may exist.
    if (hole !== undefined && this.#attempts < MAX_HOLES)
      this.#cancelRetry = this.#options.clock.schedule(RETRY_DELAY_MS, () => this.start())
    else if (hole !== undefined) this.#fail(holeError(hole))
    else if (this.#attempts < MAX_ATTEMPTS) this.start()
    else
      this.#fail(
        new StateStoreError(
          'timeout',
          'the stream was trimmed faster than its snapshots could be read: retry when the load is lower',
        ),
      )
  }

  #extendDeadline(): void {
    this.#cancel()
    const { clock, silenceTimeoutMs = 30_000 } = this.#options
    this.#cancel = clock.schedule(silenceTimeoutMs, () =>
      this.#fail(
        new StateStoreError(
          'timeout',
          `no message arrived from the stream for ${silenceTimeoutMs} ms: check that its NATS servers run and have a quorum`,
          {
            cause: this.#lastError,
          },
        ),
      ),
    )
  }

  #fail(error: unknown): void {
    this.stop()
    this.#subscriber.error(error)
  }
}
