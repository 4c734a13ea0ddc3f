import { defer, type Observable, Subscription } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/collections.js'
import { Timer } from '../../core/util/timer.js'

/** A repeated transfer of the latest value of one pair. */
export class SyncTask {
  readonly run: () => Observable<unknown>
  readonly onDone: () => void
  /** Called when the queue was stopped while only this task was running, which may therefore be the cause. */
  readonly onLostAlone: (cause: unknown) => void
  isWaiting = false
  isRunning = false
  /** Whether a newer value arrived during the transfer. */
  hasNewer = false

  constructor(
    run: () => Observable<unknown>,
    onDone: () => void,
    onLostAlone: (cause: unknown) => void = () => undefined,
  ) {
    this.run = run
    this.onDone = onDone
    this.onLostAlone = onLostAlone
  }

  get isBusy(): boolean {
    return this.isWaiting || this.isRunning
  }
}

/** Maximum number of concurrent transfers, which is enough to use the bandwidth between two machines. */
const MAX_RUNNING = 64

/**
 * Runs tasks concurrently. A transient error pauses the queue, with backoff. The queue is idle until it is started, and
 * after `stop`, which requeues running tasks at the front. After a restart, the first task runs alone, and each
 * completed task allows one more, so that a task that causes stops ends up running alone.
 */
export class SyncQueue {
  readonly #retry: Timer
  readonly #shouldRetry: (error: unknown, isFirst: boolean) => boolean
  #queued = new Fifo<SyncTask>()
  readonly #running = new Map<SyncTask, Subscription>()
  #isStarted = false
  #isDispatching = false
  #window = MAX_RUNNING

  /** @param shouldRetry - returns whether to retry after an error; `isFirst` unless the queue is already paused */
  constructor(clock: Clock, shouldRetry: (error: unknown, isFirst: boolean) => boolean) {
    this.#retry = new Timer(clock)
    this.#shouldRetry = shouldRetry
  }

  enqueue(task: SyncTask): void {
    if (task.isRunning) task.hasNewer = true
    else if (!task.isWaiting) {
      task.isWaiting = true
      this.#queued.push(task)
      this.#dispatch()
    }
  }

  start(): void {
    this.#isStarted = true
    this.#dispatch()
  }

  stop(cause?: unknown): void {
    this.#isStarted = false
    this.#retry.cancel()
    const running = Array.from(this.#running)
    if (running.length === 0) return
    const later = this.#queued
    this.#queued = new Fifo<SyncTask>()
    this.#window = 1
    for (const [task, subscription] of running) {
      subscription.unsubscribe()
      this.#finish(task)
      this.enqueue(task)
    }
    for (const task of later) this.#queued.push(task)
    const [only] = running
    if (only !== undefined && running.length === 1) only[0].onLostAlone(cause)
  }

  #dispatch(): void {
    // Tasks that complete synchronously call this method while the loop below is running.
    if (this.#isDispatching) return
    this.#isDispatching = true
    for (let task = this.#nextTask(); task !== undefined; task = this.#nextTask()) this.#run(task)
    this.#isDispatching = false
  }

  #nextTask(): SyncTask | undefined {
    const isOpen = this.#isStarted && !this.#retry.isSet && this.#running.size < this.#window
    return isOpen ? this.#queued.shift() : undefined
  }

  #run(task: SyncTask): void {
    const subscription = new Subscription()
    this.#running.set(task, subscription)
    task.isWaiting = false
    task.isRunning = true
    task.hasNewer = false
    subscription.add(
      // `defer` turns exceptions into errors.
      defer(task.run).subscribe({
        error: error => {
          this.#growWindow()
          const hasNewer = this.#finish(task)
          if (this.#shouldRetry(error, !this.#retry.isSet)) {
            this.#retry.retry(() => this.#dispatch())
            this.enqueue(task)
          } else this.#onDone(task, hasNewer)
        },
        complete: () => {
          this.#retry.reset()
          this.#growWindow()
          this.#onDone(task, this.#finish(task))
        },
      }),
    )
  }

  #onDone(task: SyncTask, hasNewer: boolean): void {
    if (hasNewer) this.enqueue(task)
    task.onDone()
    this.#dispatch()
  }

  #growWindow(): void {
    this.#window = Math.min(MAX_RUNNING, this.#window + 1)
  }

  #finish(task: SyncTask): boolean {
    const { hasNewer } = task
    this.#running.delete(task)
    task.isRunning = false
    task.hasNewer = false
    return hasNewer
  }
}
