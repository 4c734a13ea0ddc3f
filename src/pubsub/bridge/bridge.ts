import { type Observable, Subscription } from 'rxjs'
import type { StoreView } from '../../client/keys/store-view.js'
import { ArgumentError, reason, StateStoreError } from '../../core/util/errors.js'
import { ReportSubject } from '../../node/net/report-subject.js'
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

/** Serves keys of a store as groups of a hub. See {@link bridge}. */
export class Bridge implements Disposable {
  /** Emits faults that no client caused: watches that ended, values that cannot be sent, callbacks that threw. Hot. */
  readonly errors$: Observable<StateStoreError>
  readonly #store: StoreView
  readonly #options: CheckedBridgeOptions
  readonly #host: KeyGroupHost
  readonly #keyGroups = new Map<string, KeyGroup>()
  readonly #watchQuota = new KeyWatchQuota()
  readonly #errors$ = new ReportSubject<StateStoreError>(
    count => new StateStoreError('overflow', `${count} further errors at the same time were not reported`),
  )
  readonly #subscriptions = new Subscription()

  constructor(store: StoreView, hub: Hub, options: CheckedBridgeOptions) {
    this.#subscriptions.add(reservePrefix(hub, options.prefix))
    const report = (error: StateStoreError): void => this.#errors$.next(error)
    this.errors$ = this.#errors$.asObservable()
    this.#store = store
    this.#options = options
    this.#host = { hub, report, onEnded: keyGroup => this.#forget(keyGroup) }
    const writer = new KeyWriter(store, options, report)
    this.#subscriptions.add(hub.guard((connection, action, group) => this.#authorize(connection, action, group)))
    this.#subscriptions.add(hub.events$.subscribe(event => writer.onEvent(event)))
    this.#subscriptions.add(
      hub.memberships$.subscribe({ next: event => this.#onMembership(event), complete: () => this.close() }),
    )
    for (const connection of hub.connections) {
      for (const group of connection.groups) this.#onMembership({ type: 'joined', connection, group })
    }
  }

  /** The names of the watched keys. */
  get keys(): readonly string[] {
    return Array.from(this.#keyGroups.keys(), group => this.#keyOf(group))
  }

  /**
   * Ends all watches. Groups keep their members but receive no more updates. New events are not acknowledged, but
   * writes in flight still are. The store and the hub stay open. Idempotent.
   */
  close(): void {
    this.#subscriptions.unsubscribe()
    for (const keyGroup of this.#keyGroups.values()) keyGroup.stop()
    this.#keyGroups.clear()
    this.#errors$.complete()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #onMembership({ type, connection, group }: MembershipEvent): void {
    const { connectionId } = connection
    const key = this.#keyOf(group)
    if (!group.startsWith(this.#options.prefix) || key === '') return
    if (type === 'joined') {
      this.#watchQuota.add(connection)
      this.#addMember(group, key, connectionId)
    } else {
      this.#watchQuota.remove(connection)
      this.#removeMember(group, connectionId)
    }
  }

  #addMember(group: string, key: string, connectionId: string): void {
    const keyGroup = this.#keyGroups.get(group)
    if (keyGroup !== undefined) {
      keyGroup.addMember(connectionId)
      return
    }
    const opened = this.#open(group, key)
    if (opened === undefined) return
    this.#keyGroups.set(group, opened)
    opened.addMember(connectionId)
    opened.start()
  }

  #open(group: string, key: string): KeyGroup | undefined {
    const { hub, report } = this.#host
    try {
      return new KeyGroup(group, this.#store.key(key, this.#options.codecFor(key)), this.#host)
    } catch (cause) {
      const error = new ArgumentError(`Key ${JSON.stringify(key)} cannot be watched: ${reason(cause)}`, { cause })
      report(error)
      hub.sendToGroup(group, { type: 'error', key, error: errorInfoOf(error) })
      return undefined
    }
  }

  #removeMember(group: string, connectionId: string): void {
    const keyGroup = this.#keyGroups.get(group)
    keyGroup?.connectionIds.delete(connectionId)
    if (keyGroup?.connectionIds.size === 0) this.#forget(keyGroup)
  }

  #forget(keyGroup: KeyGroup): void {
    keyGroup.stop()
    this.#keyGroups.delete(keyGroup.group)
  }

  /**
   * Decides whether a client may act on a group. Only the bridge may publish to a key's group, because a client could
   * forge an update from the store.
   */
  #authorize(client: BridgeClient, action: GroupAction, group: string): boolean | undefined {
    const { prefix, read } = this.#options
    if (!group.startsWith(prefix)) return undefined
    const key = this.#keyOf(group)
    if (action === 'leave') return true
    if (action === 'send' || key === '' || this.#watchQuota.isFullFor(client)) return false
    return read && this.#mayRead(read, client, key)
  }

  #mayRead(read: NonNullable<BridgeOptions['read']>, client: BridgeClient, key: string): boolean {
    try {
      return read(client, key)
    } catch (cause) {
      this.#host.report(
        new ArgumentError(`\`read\` threw an error for key ${JSON.stringify(key)}: ${reason(cause)}`, { cause }),
      )
      return false
    }
  }

  #keyOf(group: string): string {
    return group.slice(this.#options.prefix.length)
  }
}

/**
 * Lets clients of a hub read and write keys of a store. Intended for browsers, which cannot use MQTT directly.
 *
 * - **Reading.** A client that joins group `key:{key}` receives the current entry, then every change in order, as JSON
 *   ({@link KeyMessage}). Members share one watch of the key, from the first member's join until the last member
 *   leaves. A disconnected client stays a member until its session ends.
 * - **Writing.** The events `key:set` ({@link KeySet}) and `key:delete` ({@link KeyDelete}) are acknowledged when the
 *   write has been applied. Otherwise they are rejected with the code of the store's error, `argument` for a malformed
 *   request, `NotApplied` if the condition did not hold, or `Forbidden` for a client without write permission.
 * - Only the bridge can send to these groups. Other events are left to the application.
 *
 * Throws `argument` for invalid options and for a prefix that overlaps with the prefix of another bridge of the hub.
 * The bridge closes with the hub.
 *
 * @example
 * ```ts
 * const hub = server.hub('panel')
 * using keys = bridge(store, hub, {
 *   read: ({ userId }) => userId !== undefined,
 *   write: ({ userId }, key) =>
 *     userId === 'ann' && key.startsWith('thermostat1/'),
 * })
 * ```
 */
export function bridge(store: StoreView, hub: Hub, options: BridgeOptions = {}): Bridge {
  return new Bridge(store, hub, checkBridgeOptions(options))
}

const RESERVED_PREFIXES = new WeakMap<Hub, Set<string>>()

/**
 * Reserves a prefix for a bridge, and returns a function that releases the prefix. Throws {@link ArgumentError} if the
 * prefix begins with a reserved prefix, or a reserved prefix begins with it, because both bridges would then control
 * the same groups.
 */
export function reservePrefix(hub: Hub, prefix: string): () => void {
  const reserved = RESERVED_PREFIXES.get(hub) ?? new Set()
  for (const other of reserved) {
    if (!prefix.startsWith(other) && !other.startsWith(prefix)) continue
    throw new ArgumentError(
      `Expected a \`prefix\` that does not overlap with ${JSON.stringify(other)} of another bridge of hub ` +
        `${JSON.stringify(hub.name)}, got ${JSON.stringify(prefix)}: no prefix may begin with another`,
    )
  }
  reserved.add(prefix)
  RESERVED_PREFIXES.set(hub, reserved)
  return () => void reserved.delete(prefix)
}

const MAX_WATCHES_PER_USER = 10_000

/** A hub session. The anonymous sessions of one address share an owner. */
type QuotaOwner = Pick<Connection, 'owner'>

/** Limits the number of keys that each user watches. For the store, all watches of a bridge belong to one principal. */
export class KeyWatchQuota {
  readonly #maxPerUser: number
  readonly #byUser = new Map<string, number>()

  constructor(maxPerUser: number = MAX_WATCHES_PER_USER) {
    this.#maxPerUser = maxPerUser
  }

  isFullFor(owner: QuotaOwner): boolean {
    return this.#countOf(owner) >= this.#maxPerUser
  }

  add(owner: QuotaOwner): void {
    this.#byUser.set(owner.owner, this.#countOf(owner) + 1)
  }

  remove(owner: QuotaOwner): void {
    const count = this.#countOf(owner) - 1
    if (count > 0) this.#byUser.set(owner.owner, count)
    else this.#byUser.delete(owner.owner)
  }

  #countOf(owner: QuotaOwner): number {
    return this.#byUser.get(owner.owner) ?? 0
  }
}
