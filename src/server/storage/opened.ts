import type { Observable } from 'rxjs'
import type { Client } from '../../core/mqtt5/peer.js'
import type { Clock } from '../../core/util/clock.js'
import type { Engine } from '../engine/engine.js'
import type { LogEvents } from '../log/cluster/settings.js'
import type { Log, LogFailure } from '../log/log.js'
import type { ClusterStatus } from './cluster-status.js'
import type { OpeningProgress } from './storage-options.js'

/** Where a store begins, and where what it does goes. */
export interface Opened {
  readonly engine: Engine<Client>
  readonly log: Log
  /** Why the log takes nothing as yet, if so: the disk is full. */
  readonly failure?: LogFailure | undefined
  /** The clock of the log, if that has one of its own. */
  readonly clock?: Clock | undefined
  /** The nodes that share the log, as this one sees them. */
  readonly cluster?: (() => ClusterStatus) | undefined
}

/** What opening a storage takes, with all defaults filled in. */
export interface StorageSettings {
  /** A directory, or the empty string for memory alone. */
  readonly data: string
  readonly clock: Clock
  readonly opening: (progress: OpeningProgress) => void
  readonly maxKeys: number
  readonly maxBytes: number
}

/** Who hears of a log that nodes share, and what they have to know of this one. */
export interface NodeHost {
  readonly events: LogEvents
  /** Hears every few seconds how the log is kept: what is wrong with it, or `undefined`. */
  readonly kept: (concern: unknown) => void
  /** Connections at this node. */
  readonly clients: () => number
  /** What is being opened is not wanted any more when this emits; default never. */
  readonly unwanted$?: Observable<unknown> | undefined
}

/** What is kept of a store from one start to the next. */
export interface Storage {
  /** Opens it, or opens it again when the log before is closed. */
  open(): Promise<Opened>
  /** As {@link open}, with nothing in it. */
  openEmpty(): Promise<Opened>
  /** It is not used any more. */
  release(): Promise<void>
}
