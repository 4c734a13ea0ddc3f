import { type Observable, Subject, Subscription } from 'rxjs'
import type { StoreView } from '../../client/keys/store-view.js'
import { ArgumentError, reason, type StateStoreError } from '../../core/util/errors.js'
import type { Hub } from '../hub/hub.js'
import type { MembershipEvent } from '../hub/hub-driver.js'
import type { Connection } from '../hub/identity.js'
import type { GroupAction } from '../hub/permissions.js'
import {
  type BridgeClient,
  type BridgeOptions,
  type CheckedBridgeOptions,
  checkBridgeOptions,
} from './bridge-options.js'
import { KeyGroup, type KeyGroupHost } from './key-group.js'
import { errorInfoOf } from './key-messages.js'
import { KeyWriter } from './key-writer.js'

/** Keys of a store as groups of a hub; see {@link bridge}. */
export class Bridge implements Disposable {
  /** Faults that concern no client: watches that ended, values that cannot be sent, callbacks that raised an error. Hot. */
  readonly errors$: Observable<StateStoreError>
  readonly #store: StoreView
  readonly #options: CheckedBridgeOptions
  readonly #host: KeyGroupHost
  readonly #keyGroups = new Map<string, KeyGroup>()
  readonly #followed = new FollowedKeys()
  readonly #errors$ = new Subject<StateStoreError>()
  readonly #running = new Subscription()

  /** Use {@link bridge}. */
  constructor(store: StoreView, hub: Hub, options: CheckedBridgeOptions) {
    this.#running.add(takePrefix(hub, options.prefix))
    const report = (error: StateStoreError): void => this.#errors$.next(error)
    this.errors$ = this.#errors$.asObservable()
    this.#store = store
    this.#options = options
    this.#host = { hub, report, ended: keyGroup => this.#forget(keyGroup) }
    const writer = new KeyWriter(store, options, report)
    this.#running.add(hub.guard((connection, action, group) => this.#decide(connection, action, group)))
    this.#running.add(hub.events$.subscribe(event => writer.take(event)))
    this.#running.add(hub.memberships$.subscribe({ next: event => this.#changed(event), complete: () => this.close() }))
    for (const connection of hub.connections) {
      for (const group of connection.groups) this.#changed({ type: 'joined', connection, group })
    }
  }

  /** Names of the keys that are followed now. */
  get keys(): readonly string[] {
    return Array.from(this.#keyGroups.keys(), group => this.#keyOf(group))
  }

  /**
   * Ends all watches. Groups keep their members and hear nothing more; events are not answered any more; writes under
   * way are. Store and hub stay open. May be called again.
   */
  close(): void {
    this.#running.unsubscribe()
    for (const keyGroup of this.#keyGroups.values()) keyGroup.stop()
    this.#keyGroups.clear()
    this.#errors$.complete()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #changed({ type, connection, group }: MembershipEvent): void {
    const { connectionId } = connection
    const key = this.#keyOf(group)
    if (!group.startsWith(this.#options.prefix) || key === '') return
    if (type === 'joined') {
      this.#followed.add(connection)
      this.#joined(group, key, connectionId)
    } else {
      this.#followed.remove(connection)
      this.#left(group, connectionId)
    }
  }

  #joined(group: string, key: string, connectionId: string): void {
    const keyGroup = this.#keyGroups.get(group)
    if (keyGroup !== undefined) {
      keyGroup.welcome(connectionId)
      return
    }
    const opened = this.#open(group, key)
    if (opened === undefined) return
    this.#keyGroups.set(group, opened)
    opened.welcome(connectionId)
    opened.start()
  }

  #open(group: string, key: string): KeyGroup | undefined {
    const { hub, report } = this.#host
    try {
      return new KeyGroup(group, this.#store.key(key, this.#options.codecOf(key)), this.#host)
    } catch (cause) {
      const error = new ArgumentError(`Key ${JSON.stringify(key)} cannot be watched: ${reason(cause)}`, { cause })
      report(error)
      hub.sendToGroup(group, { type: 'error', key, error: errorInfoOf(error) })
      return undefined
    }
  }

  #left(group: string, connectionId: string): void {
    const keyGroup = this.#keyGroups.get(group)
    keyGroup?.members.delete(connectionId)
    if (keyGroup?.members.size === 0) this.#forget(keyGroup)
  }

  #forget(keyGroup: KeyGroup): void {
    keyGroup.stop()
    this.#keyGroups.delete(keyGroup.group)
  }

  /** Clients may not publish what would look like an update from the store. */
  #decide(client: BridgeClient, action: GroupAction, group: string): boolean | undefined {
    const { prefix, read } = this.#options
    if (!group.startsWith(prefix)) return undefined
    const key = this.#keyOf(group)
    if (action === 'leave') return true
    if (action === 'send' || key === '' || this.#followed.isFullFor(client)) return false
    return read && this.#mayRead(read, client, key)
  }

  #mayRead(read: NonNullable<BridgeOptions['read']>, client: BridgeClient, key: string): boolean {
    try {
      return read(client, key)
    } catch (cause) {
      this.#host.report(
        new ArgumentError(`\`read\` raised an error for key ${JSON.stringify(key)}: ${reason(cause)}`, { cause }),
      )
      return false
    }
  }

  #keyOf(group: string): string {
    return group.slice(this.#options.prefix.length)
  }
}

/**
 * Lets clients of a hub read and write keys of a store: for browsers, which do not speak MQTT.
 *
 * - **Reading.** A client that joins group `key:{key}` is sent the current entry, then every change, as JSON
 *   ({@link KeyMessage}); in order, and nothing in between is left out. All of them share one watch of the key, from the
 *   first to the last member; clients that are away are members until their session ends.
 * - **Writing.** The events `key:set` ({@link KeySet}) and `key:delete` ({@link KeyDelete}) are acknowledged when the
 *   write was applied. Otherwise they are refused: with the code of the store's error, `argument` for a malformed
 *   request, `NotApplied` for a condition that did not hold, `Forbidden` for a client that may not write.
 * - Only the bridge can send to these groups. Other events are left to the application.
 *
 * Throws `argument` for wrong options, and for a prefix that overlaps with that of another bridge of the hub. Ends with the
 * hub.
 *
 * @example
 * ```ts
 * const hub = server.hub('panel')
 * using keys = bridge(store, hub, {
 *   read: ({ userId }) => userId !== undefined,
 *   write: ({ userId }, key) => userId === 'ann' && key.startsWith('thermostat1/'),
 * })
 * ```
 */
export function bridge(store: StoreView, hub: Hub, options: BridgeOptions = {}): Bridge {
  return new Bridge(store, hub, checkBridgeOptions(options))
}

/** Of the bridges of each hub. */
const TAKEN = new WeakMap<Hub, Set<string>>()

/**
 * Takes a prefix for a bridge; the returned function gives it back. Throws {@link ArgumentError} for one that begins with
 * that of another bridge, or the other way round: both would decide about the same groups, and send to them.
 */
export function takePrefix(hub: Hub, prefix: string): () => void {
  const taken = TAKEN.get(hub) ?? new Set()
  for (const other of taken) {
    if (!prefix.startsWith(other) && !other.startsWith(prefix)) continue
    throw new ArgumentError(
      `Expected a \`prefix\` that does not overlap with ${JSON.stringify(other)} of another bridge of hub ` +
        `${JSON.stringify(hub.name)}, got ${JSON.stringify(prefix)}: choose prefixes of which none begins with another`,
    )
  }
  taken.add(prefix)
  TAKEN.set(hub, taken)
  return () => void taken.delete(prefix)
}

/** Memberships in groups of keys that one user may have with all its sessions. */
const MAX_PER_USER = 10_000

/** A session of a hub; all without a user at one address have one owner. */
type Follower = Pick<Connection, 'owner'>

/**
 * How many keys each user follows through a bridge. At the store all of a bridge's watches are one principal's, whose quota
 * one user could use up otherwise.
 */
export class FollowedKeys {
  readonly #maxPerUser: number
  readonly #byUser = new Map<string, number>()

  /** @param maxPerUser - memberships */
  constructor(maxPerUser: number = MAX_PER_USER) {
    this.#maxPerUser = maxPerUser
  }

  /** Whether a user may follow no more. */
  isFullFor(follower: Follower): boolean {
    return this.#countOf(follower) >= this.#maxPerUser
  }

  add(follower: Follower): void {
    this.#byUser.set(follower.owner, this.#countOf(follower) + 1)
  }

  remove(follower: Follower): void {
    const count = this.#countOf(follower) - 1
    if (count > 0) this.#byUser.set(follower.owner, count)
    else this.#byUser.delete(follower.owner)
  }

  #countOf(follower: Follower): number {
    return this.#byUser.get(follower.owner) ?? 0
  }
}
