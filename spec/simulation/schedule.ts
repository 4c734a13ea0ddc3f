import type { Conditions } from './network.js'

/** An action of a client on a key, `at` milliseconds after the start. */
export type KeyAction = { readonly at: number; readonly client: number; readonly key: number } & (
  | { readonly type: 'set'; readonly how: 'plain' | 'NX' | 'NEX' | 'PX' }
  | { readonly type: 'delete' | 'deleteIf' | 'watch' | 'unwatch' }
  /** All subscribers leave, and return either immediately, as components do, or after `pause` milliseconds. */
  | { readonly type: 'remount'; readonly pause: number }
)

export interface Restart {
  /** The restarted node. The default is the only node. */
  readonly node?: number
  readonly keepData: boolean
  readonly keepSessions: boolean
  /** The clients whose sessions are lost although the sessions of other clients are kept, one bit per client. */
  readonly forgotten?: number
  /** The time in milliseconds until the store is available again. */
  readonly outage: number
  /**
   * How far the store's wall clock was set back before the restart, in milliseconds. Negative values set it forward.
   */
  readonly clockBack?: number
}

/** A failover: an attached store stops, and another store starts later without registrations. */
export interface Failover {
  readonly keepData: boolean
  /** The time in milliseconds until the other store starts. */
  readonly outage: number
  /** Whether the broker announces the outage. */
  readonly isAnnounced: boolean
}

/** An event in the simulation, `at` milliseconds after the start. */
export type Action =
  | KeyAction
  | { readonly at: number; readonly type: 'cut'; readonly client: number }
  | { readonly at: number; readonly type: 'takeover'; readonly client: number }
  /** A node disconnects a client, which then connects to another node. */
  | { readonly at: number; readonly type: 'move'; readonly client: number }
  /** The set of keys of the client's `watchAll`, one bit per key. */
  | { readonly at: number; readonly type: 'watchAll'; readonly client: number; readonly keys: number }
  /** On a caller's connection, the client is closed and another client is created on the same connection. */
  | { readonly at: number; readonly type: 'reopen'; readonly client: number }
  /** The store's wall clock is set back at runtime by `back` milliseconds. Negative values set it forward. */
  | { readonly at: number; readonly type: 'clock'; readonly back: number }
  | ({ readonly at: number; readonly type: 'restart' } & Restart)
  | ({ readonly at: number; readonly type: 'failover' } & Failover)

export interface ClientPlan {
  readonly keepSession: boolean
  readonly cleanStart: boolean
  readonly clockOffset: number
  /** The rate of the client's clocks. The default is 1. */
  readonly clockRate?: number
  /** Whether the connection belongs to the caller. */
  readonly shared?: boolean
  /** In milliseconds. */
  readonly stopDelay?: number
}

/** The properties of a broker and its store. */
export interface BrokerKind {
  readonly identifiers: boolean
  /** Whether the store sends the version of a not-found response. */
  readonly positions: boolean
  /**
   * The order that the broker keeps: of all messages of a connection, of responses and notifications separately, or per
   * topic. With `key`, its store orders responses only per key.
   */
  readonly order: 'connection' | 'kind' | 'topic' | 'key'
}

export interface Schedule {
  readonly seed: number
  readonly kind: BrokerKind
  readonly clients: readonly ClientPlan[]
  readonly conditions: Conditions
  /** The number of brokers that share the store. The default is 1. */
  readonly nodes?: number
  readonly beside?: true
  readonly reentrancy?: number
  readonly actions: readonly Action[]
}

export const FAULTY_MS = 6_000
export const MAX_KEYS = 4

export const describeAction = ({ at, type, ...rest }: { readonly at: number; readonly type: string }): string =>
  `${String(at).padStart(5)} ms  ${type.padEnd(8)} ${Object.entries(rest)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')}`
