import type { Observable } from 'rxjs'
import type { Clock } from '../../../core/util/clock.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import type { Sharing } from '../log.js'
import type { Availability } from './log-health-monitor.js'
import type { LogKeys } from './node-message.js'
import type { SnapshotSizes } from './snapshot-writer.js'
import type { Hole, Stream } from './stream.js'

/** How a node goes about the log. */
export interface LogSettings {
  readonly nodeId: string
  /** Default `linearizable`. */
  readonly reads?: Sharing['reads'] | undefined
  /** For so long the log is waited for before clients are sent away, ms. Default 10,000. */
  readonly stallTimeout?: number | undefined
  readonly snapshots?: Partial<SnapshotSizes> | undefined
  /** What nodes sign with. Default nothing: whoever may send to the log counts as a node. */
  readonly keys?: LogKeys | undefined
  /** Positions of messages that all nodes leave out, as an operator says. */
  readonly skip?: ReadonlySet<number> | undefined
}

/** What a log tells. */
export interface LogEvents {
  /** @param cause - what went wrong last */
  available(availability: Availability, cause: unknown): void
  /** It has fallen behind what was trimmed, or met a hole, and must be opened anew. */
  outrun(hole?: Hole): void
  /** It has stopped for good: `diverged`, `superseded`, `format`, `log-key` or `damaged`. */
  failed(error: unknown): void
  /** Something went wrong that does not keep it from going on. */
  troubled(error: unknown): void
}

/** What a log needs. */
export interface ReplicatedHost extends LogEvents {
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  /** Random, another one each time. */
  readonly newLife: () => string
  readonly capture: () => State
  /** Applies what comes while nobody listens. */
  readonly apply: (entry: LogEntry) => void
  /** Connections at this node. */
  readonly clients: () => number
}

/** A log that several nodes of a store share, as `serve` takes it; `jetStreamLog` of `rx-statestore/jetstream` makes one. */
export interface SharedLog {
  /** Of the store, the same at all its nodes. */
  readonly name: string
  /** How this node goes about it. @internal */
  readonly settings: LogSettings
  /** Connects; emits once, and fails when that does not come about. @internal */
  connect(): Observable<Stream>
}
