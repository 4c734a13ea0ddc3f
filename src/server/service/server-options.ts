import type { Content, Incoming, Publish } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import type { Dialect, Reply } from '../../core/protocol/replies.js'
import type { Clock } from '../../core/util/clock.js'
import type { Owner } from '../engine/entry.js'
import type { LogFailure } from '../log/log.js'
import type { TopicRights } from './access.js'

/** What happened to a request, for those who operate the store. */
export interface RequestReport {
  readonly clientId: string
  readonly payload: Uint8Array
  /** What the store answered, or `rejected` when it did not look at the request. */
  readonly outcome: Reply['type'] | 'rejected'
  /** Whether it is a write that came before: it was answered as it was then, and not done again. */
  readonly repeated: boolean
}

/** How a store at a broker is to be, and what it tells. */
export interface StateStoreServerOptions {
  readonly dialect: Dialect
  /**
   * `registered`: to all that registered (as in the field); `subscribed`: only to those that subscribed to the topic,
   * too.
   */
  readonly notifications: 'registered' | 'subscribed'
  readonly clock: Clock
  /** Runs a task when what the event loop has read is worked off; default the event loop's own, simulations have another. */
  readonly afterIo?: ((task: () => void) => void) | undefined
  /** How much later than due keys expire by themselves, ms, so that not all nodes see to it at once; default not at all. */
  readonly reluctance?: (() => number) | undefined
  /** What clients may do with other topics than the store's; default everything. */
  readonly rights?: TopicRights | undefined
  /** To whose quota of keys a connection writes; default nobody's. */
  ownerOf?(connection: Client): Owner | undefined
  /**
   * Takes the answer to a request, in place of the connection; `message` is what {@link StateStoreServer.take} was given, and
   * the content has views of it.
   */
  answer?(connection: Client, message: Incoming, content: Content): void
  /** Publishes to all subscribers of the topic, for responses that go elsewhere than to the requester. */
  publish(message: Publish): void
  /** Versions have begun to run ahead of the wall clock, by so many ms, or (0) do so no more. */
  drifted(drift: number): void
  /** The log takes entries no more, or takes them again. */
  stored(failure: LogFailure | undefined): void
  /** An error of the store itself. */
  faulted(error: unknown): void
  /** A client wanted a topic or filter that is not for it, whatever its rights. */
  refused?(connection: Client, action: 'publish' | 'subscribe', topic: string): void
  /** A request was refused as it would be more than there may be. */
  exceeded?(connection: Client, message: Incoming): void
}
