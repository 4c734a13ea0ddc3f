import type { Conditions } from './network.js'

/** What a client does with a key, `at` ms after the start. */
export type KeyAction = { readonly at: number; readonly client: number; readonly key: number } & (
  | { readonly type: 'set'; readonly how: 'plain' | 'NX' | 'NEX' | 'PX' }
  | { readonly type: 'delete' | 'deleteIf' | 'watch' | 'unwatch' }
  /** Every subscriber leaves, and comes back at once, as components do, or after a while, ms. */
  | { readonly type: 'remount'; readonly pause: number }
)

/** A store and its broker stop, and come back. */
export interface Restart {
  /** Which of several; default the only one. */
  readonly node?: number
  readonly keepData: boolean
  readonly keepSessions: boolean
  /** Clients whose sessions are lost though the others' are kept, one bit per client. */
  readonly forgotten?: number
  /** ms until the store is back. */
  readonly outage: number
  /** ms the store's wall clock has gone back by then; forward when negative. */
  readonly clockBack?: number
}

/** A store that is beside its broker is away for a while; then another one is there, which knows no registrations. */
export interface Reign {
  readonly keepData: boolean
  /** ms until the other one is there. */
  readonly outage: number
  /** Whether the broker says that it is away. */
  readonly isTold: boolean
}

/** Something that happens in the world, `at` ms after the start. */
export type Action =
  | KeyAction
  | { readonly at: number; readonly type: 'cut'; readonly client: number }
  | { readonly at: number; readonly type: 'takeover'; readonly client: number }
  /** A node sends a client away, which goes to another one. */
  | { readonly at: number; readonly type: 'move'; readonly client: number }
  /** The set of keys of the client's `watchAll`, one bit per key. */
  | { readonly at: number; readonly type: 'watchAll'; readonly client: number; readonly keys: number }
  /** On a connection of its own making: the client is closed, and another one made on the same connection. */
  | { readonly at: number; readonly type: 'reopen'; readonly client: number }
  /** Somebody sets the store's wall clock while it runs, ms back; forward when negative. */
  | { readonly at: number; readonly type: 'clock'; readonly back: number }
  | ({ readonly at: number; readonly type: 'restart' } & Restart)
  | ({ readonly at: number; readonly type: 'reign' } & Reign)

export interface ClientPlan {
  readonly keepSession: boolean
  readonly cleanStart: boolean
  /** How wrong its wall clock is, ms. */
  readonly clockOffset: number
  /** How fast its clocks run; default 1. */
  readonly clockRate?: number
  /** Its connection is somebody else's. */
  readonly shared?: boolean
  /** ms */
  readonly stopDelay?: number
}

/** What kind of broker and store it is. */
export interface Kind {
  /** The broker adds subscription identifiers. */
  readonly identifiers: boolean
  /** The store says the place of an answer that there is no such key. */
  readonly positions: boolean
  /**
   * What the broker keeps in order: all messages of a connection, answers and notifications each, or topics; or it has a
   * store that answers in order what is about one key alone.
   */
  readonly order: 'connection' | 'kind' | 'topic' | 'key'
}

/** Everything that happens in a simulation. */
export interface Schedule {
  readonly seed: number
  readonly kind: Kind
  readonly clients: readonly ClientPlan[]
  readonly conditions: Conditions
  /** Brokers that share the store; default one. */
  readonly nodes?: number
  /** The store is beside its broker; default within. */
  readonly beside?: true
  /** How often a handler of a subscriber calls back in. */
  readonly callingBack?: number
  readonly actions: readonly Action[]
}

/** ms in which things go wrong; after that the world behaves. */
export const TROUBLE = 6_000
/** Most there are; the generators take as many as they were made with. */
export const KEYS = 4

/** An action in a few words. */
export const describeAction = ({ at, type, ...rest }: { readonly at: number; readonly type: string }): string =>
  `${String(at).padStart(5)} ms  ${type.padEnd(8)} ${Object.entries(rest)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')}`
