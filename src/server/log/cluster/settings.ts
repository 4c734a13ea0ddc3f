import type { Observable } from 'rxjs'
import type { Clock } from '../../../core/util/clock.js'
import type { LogEntry } from '../../engine/entry.js'
import type { State } from '../../engine/records.js'
import type { Sharing } from '../log.js'
import type { Availability } from './log-health-monitor.js'
import type { LogKeys } from './node-message.js'
import type { SnapshotSizes } from './snapshot-writer.js'
import type { Hole, Stream } from './stream.js'

/** The settings with which a node uses the log. */
export interface LogSettings {
  readonly nodeId: string
  /** The consistency of reads. Default: `linearizable`. */
  readonly reads?: Sharing['reads'] | undefined
  /** The time in ms for which the log may be unreachable before clients are disconnected. Default: 10,000. */
  readonly stallTimeout?: number | undefined
  readonly snapshots?: Partial<SnapshotSizes> | undefined
  /**
   * The keys with which nodes sign messages. Default: none, so that every client that may publish to the log counts as
   * a node.
   */
  readonly keys?: LogKeys | undefined
  /** The positions of messages that an operator makes all nodes ignore. */
  readonly skip?: ReadonlySet<number> | undefined
}

export interface LogEvents {
  /** @param cause - the last error */
  onAvailability(availability: Availability, cause: unknown): void
  /** Called when the node must be reopened, because it fell behind the trimmed part of the stream or met a hole. */
  onOutrun(hole?: Hole): void
  /** Called when the log has stopped permanently with `diverged`, `superseded`, `format`, `log-key` or `damaged`. */
  onFailed(error: unknown): void
  /** Called with an error that does not stop the log. */
  onError(error: unknown): void
}

export interface ReplicatedLogHost extends LogEvents {
  readonly clock: Clock
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Returns a new random id. */
  readonly newEpochId: () => string
  readonly capture: () => State
  /** Applies entries while there is no listener. */
  readonly apply: (entry: LogEntry) => void
  /** Returns the number of connections at this node. */
  readonly countClients: () => number
}

/**
 * A log shared by a store's nodes, for the `log` option of `serve`. Created by `jetStreamLog` of
 * `rx-statestore/jetstream`.
 */
export interface SharedLog {
  /** The store's name, which is the same at all its nodes. */
  readonly name: string
  /** @internal */
  readonly settings: LogSettings
  /**
   * Connects, and emits the stream once or fails.
   *
   * @internal
   */
  connect(): Observable<Stream>
}
