import type { Clock } from '../../../../src/core/util/clock.js'
import type { KeyChange } from '../../../../src/server/engine/command-result.js'
import type { LogEntry } from '../../../../src/server/engine/entry.js'
import type { Availability } from '../../../../src/server/log/cluster/log-health-monitor.js'
import { type OpenedNode, openNode } from '../../../../src/server/log/cluster/open.js'
import type { LogEvents, LogSettings } from '../../../../src/server/log/cluster/settings.js'
import type { Stream } from '../../../../src/server/log/cluster/stream.js'
import type { LogFailure } from '../../../../src/server/log/log.js'
import { pictureOf } from '../disk/run.js'

/** A node that applies the committed entries and records all events. */
export class TestNode implements LogEvents {
  readonly committed: LogEntry[] = []
  readonly foreign: LogEntry[] = []
  readonly rejected: { readonly entry: LogEntry; readonly failure: LogFailure }[] = []
  readonly availabilities: Availability[] = []
  readonly failures: unknown[] = []
  readonly reportedErrors: unknown[] = []
  readonly changes: KeyChange[] = []
  outruns = 0
  error: unknown
  opened: OpenedNode<never> | undefined
  readonly #subscription

  constructor(stream: Stream, clock: Clock, settings: LogSettings, newEpochId: () => string) {
    const options = { limits: {}, settings, clock, random: () => 0.5, newEpochId, countClients: () => 0, events: this }
    this.#subscription = openNode<never>(stream, options).subscribe({
      next: opened => this.#onOpened(opened),
      error: error => {
        this.error = error
      },
    })
  }

  get log(): OpenedNode<never>['log'] {
    return this.#open.log
  }

  get judge(): OpenedNode<never>['judge'] {
    return this.#open.judge
  }

  get engine(): OpenedNode<never>['engine'] {
    return this.#open.engine
  }

  get stateHex(): string {
    return pictureOf(this.engine)
  }

  onAvailability(availability: Availability): void {
    this.availabilities.push(availability)
  }

  onOutrun(): void {
    this.outruns++
  }

  onFailed(error: unknown): void {
    this.failures.push(error)
  }

  onError(error: unknown): void {
    this.reportedErrors.push(error)
  }

  /** Ends the node like a killed process. */
  kill(): void {
    this.#subscription.unsubscribe()
    this.opened?.log.stop()
  }

  get #open(): OpenedNode<never> {
    if (this.opened === undefined) throw new Error(`the node is not open: ${String(this.error)}`)
    return this.opened
  }

  #onOpened(opened: OpenedNode<never>): void {
    this.opened = opened
    const { engine, log } = opened
    log.listen({
      onCommitted: entry => {
        for (const { changes } of engine.apply(entry)) this.changes.push(...changes)
        this.committed.push(entry)
      },
      onForeign: entry => {
        for (const { changes } of engine.apply(entry)) this.changes.push(...changes)
        this.foreign.push(entry)
      },
      onRejected: (entry, failure) => this.rejected.push({ entry, failure }),
    })
  }
}
