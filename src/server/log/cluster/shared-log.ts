import type { Observable } from 'rxjs'
import type { LogSettings } from './settings.js'
import type { Stream } from './stream.js'

/** A log that several nodes of a store share, as `serve` takes it; `jetStreamLog` of `rx-statestore/jetstream` makes one. */
export interface SharedLog {
  /** Of the store, the same at all its nodes. */
  readonly name: string
  /** How this node goes about it. */
  readonly settings: LogSettings
  /** Connects; emits once, and fails when that does not come about. */
  connect(): Observable<Stream>
}
