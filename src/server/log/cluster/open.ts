import { Observable, type Subscriber, type Subscription } from 'rxjs'
import type { Clock } from '../../../core/util/clock.js'
import { StateStoreError } from '../../../core/util/errors.js'
import { Engine, type EngineOptions } from '../../engine/engine.js'
import { holeFound } from './errors.js'
import type { MessageJudge } from './message-judge.js'
import { ReplicatedLog } from './replicated-log.js'
import type { LogEvents, LogSettings } from './settings.js'
import { type Loaded, loadNewest } from './snapshot-writer.js'
import { type Hole, type Stream, StreamError } from './stream.js'

/** A node that has caught up and takes part. */
export interface OpenedNode<C> {
  readonly engine: Engine<C>
  readonly log: ReplicatedLog
  readonly replica: MessageJudge
}

/** What opening a node takes. */
export interface OpenNodeOptions<C> {
  readonly bounds: EngineOptions<C>
  readonly settings: LogSettings
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  /** Random, another one each time. */
  readonly newLife: () => string
  /** Connections at this node. */
  readonly clients: () => number
  /** Hears what becomes of the log once it is open. */
  readonly events: LogEvents
  /** Hears how far it has come, in positions. */
  readonly progress?: ((progress: { readonly read: number; readonly of: number }) => void) | undefined
  /** It fails when nothing has come for so long, ms. Default 30,000. */
  readonly silence?: number | undefined
}

/** A stream that is trimmed again and again before a snapshot is read is given up. */
const MOST_TRIES = 10
/** What did not answer, or is damaged, is asked for again after this, ms. */
const RETRY = 500
/** So often no snapshot that is good is found before that is believed. */
const MOST_DAMAGES = 4
/** So often a hole is met before it is believed to be in all copies. */
const MOST_HOLES = 5

/**
 * Opens a node: loads the newest snapshot that is good, follows the stream to where it ended, and takes part in a new life.
 * Emits once, when it has caught up and its first message is in the log. What does not answer is asked again. Fails with
 * `damaged`, `format`, `log-key`, `diverged` or `superseded`, and with `timeout` when nothing comes.
 */
export const openNode = <C>(stream: Stream, options: OpenNodeOptions<C>): Observable<OpenedNode<C>> =>
  new Observable(subscriber => {
    const opening = new Opening(stream, options, subscriber)
    opening.begin()
    return () => opening.end()
  })

const isDamage = (error: unknown): boolean =>
  error instanceof StateStoreError && (error.code === 'damaged' || error.code === 'format')

class Opening<C> {
  readonly #stream: Stream
  readonly #options: OpenNodeOptions<C>
  readonly #subscriber: Subscriber<OpenedNode<C>>
  #loading: Subscription | undefined
  #log: ReplicatedLog | undefined
  #cancel: () => void = () => undefined
  #cancelRetry: () => void = () => undefined
  #trouble: unknown
  #tries = 0
  #damages = 0
  /** It reads the log up to its end, takes part, and is open when its first message is in the log. */
  #phase: 'reading' | 'joining' | 'open' = 'reading'

  constructor(stream: Stream, options: OpenNodeOptions<C>, subscriber: Subscriber<OpenedNode<C>>) {
    this.#stream = stream
    this.#options = options
    this.#subscriber = subscriber
  }

  begin(): void {
    this.#alive()
    this.#tries++
    this.#phase = 'reading'
    this.#load()
  }

  /** It is not wanted any more, or done. */
  end(): void {
    this.#cancel()
    this.#cancelRetry()
    this.#loading?.unsubscribe()
    if (this.#phase !== 'open') this.#log?.stop()
  }

  #load(): void {
    const make = (replica: MessageJudge): Engine<C> =>
      new Engine<C>({ ...this.#options.bounds, onResult: result => replica.digest.see(result) })
    this.#loading = loadNewest(this.#stream, this.#options.settings, make, () => this.#alive()).subscribe({
      next: loaded => this.#follow(loaded),
      error: error => this.#notLoaded(error),
    })
  }

  /**
   * A server that is about to lead does not answer yet, and while a damaged snapshot is read, the good one before it may be
   * replaced by one behind it: whoever has stopped for that would not come back by itself.
   */
  #notLoaded(error: unknown): void {
    const isLost = error instanceof StreamError && error.problem === 'lost'
    if (!isLost && (!isDamage(error) || ++this.#damages >= MOST_DAMAGES)) {
      this.#fail(error)
      return
    }
    const { clock, events } = this.#options
    this.#trouble = error
    events.troubled(error)
    this.#cancelRetry = clock.schedule(RETRY, () => this.#load())
  }

  #follow({ engine, replica, end }: Loaded<Engine<C>>): void {
    const { settings, clock, random, newLife, clients, events } = this.#options
    const log = new ReplicatedLog(this.#stream, replica, settings, {
      clock,
      random,
      newLife,
      clients,
      capture: () => engine.capture(),
      apply: entry => engine.replay(entry),
      available: (availability, cause) => {
        if (this.#phase === 'open') events.available(availability, cause)
      },
      outrun: hole => (this.#phase === 'open' ? events.outrun(hole) : this.#again(hole)),
      failed: error => (this.#phase === 'open' ? events.failed(error) : this.#fail(error)),
      troubled: error => events.troubled(error),
    })
    this.#log = log
    const moved = (): void => this.#moved(log, engine, replica, end)
    log.follow(end, moved)
    moved()
  }

  #moved(log: ReplicatedLog, engine: Engine<C>, replica: MessageJudge, end: number): void {
    if (this.#phase === 'open' || log !== this.#log) return
    this.#alive()
    this.#options.progress?.({ read: replica.position, of: Math.max(end, replica.position) })
    if (this.#phase === 'reading' && replica.position >= end) {
      this.#phase = 'joining'
      log.begin(this.#options.newLife())
    }
    if (this.#phase === 'reading' || !log.established) return
    this.#phase = 'open'
    this.#cancel()
    this.#subscriber.next({ engine, log, replica })
    this.#subscriber.complete()
  }

  #again(hole: Hole | undefined): void {
    this.#log = undefined
    // Another server may lead by then, or a snapshot be written behind it.
    if (hole !== undefined && this.#tries < MOST_HOLES)
      this.#cancelRetry = this.#options.clock.schedule(RETRY, () => this.begin())
    else if (hole !== undefined) this.#fail(holeFound(hole))
    else if (this.#tries < MOST_TRIES) this.begin()
    else this.#fail(new StateStoreError('timeout', 'the stream is trimmed faster than a snapshot of it is read'))
  }

  #alive(): void {
    this.#cancel()
    const { clock, silence = 30_000 } = this.#options
    this.#cancel = clock.schedule(silence, () =>
      this.#fail(
        new StateStoreError('timeout', `the stream has brought nothing for ${silence} ms, or has no quorum`, {
          cause: this.#trouble,
        }),
      ),
    )
  }

  #fail(error: unknown): void {
    this.end()
    this.#subscriber.error(error)
  }
}
