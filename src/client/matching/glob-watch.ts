import type { Subscription } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { compileGlob, type Glob } from '../../core/protocol/glob.js'
import { MAX_WATCHED_KEY_BYTES } from '../../core/protocol/topics.js'
import { StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from '../watch/freshness.js'
import { toKeyName } from '../watch/key-name.js'
import type {
  Discovery,
  GlobObserver,
  KeyWatches,
  RegistryOptions,
  UnmatchedChange,
} from '../watch/shared-registration.js'
import { inTurn, type SharedRegistration } from '../watch/watch.js'
import { GlobMember, KeyTombstones } from './glob-member.js'
import { registerGlob } from './register-glob.js'

/** A watched glob of a client. Tracks the glob's keys, each of which has a watch in the registry. */
export class GlobWatch implements SharedRegistration {
  readonly glob: Uint8Array
  isRegistered = false
  readonly #options: RegistryOptions
  readonly #host: GlobHost
  readonly #matcher: Glob
  readonly #members = new Map<string, GlobMember>()
  readonly #tombstones = new KeyTombstones()
  #observers: readonly GlobObserver[] = []
  #limits: GlobOptions = { maxKeys: 1, scanInterval: Number.POSITIVE_INFINITY }
  #registration: Subscription | undefined
  #state: Freshness['state'] = 'connecting'
  #isConnected = false
  #isUnsupported = false
  #isRefused = false
  #isListed = false
  /** Whether a key was synced on this connection and no longer is. */
  #hasUnsynced = false
  #synced = 0
  /** The store's version at registration. A newer change of an unknown key is its first change since then. */
  #registeredAt: Hlc | undefined

  constructor(glob: Uint8Array, options: RegistryOptions, host: GlobHost) {
    this.glob = glob
    this.#options = options
    this.#host = host
    this.#matcher = compileGlob(glob)
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  get mayBeRegistered(): boolean {
    return this.#isConnected && !this.#isRefused
  }

  /** Returns whether the registration of this glob serves the key, or will once it is confirmed. */
  covers(id: string): boolean {
    return this.#canNotify && this.#members.has(id)
  }

  join(options: GlobOptions, observer: GlobObserver): void {
    this.#limits = {
      maxKeys: Math.max(options.maxKeys, this.#limits.maxKeys),
      scanInterval: Math.min(options.scanInterval, this.#limits.scanInterval),
    }
    this.#observers = this.#observers.concat(observer)
    for (const { key, raw } of Array.from(this.#members.values())) {
      if (raw?.op === 'set' && this.#observers.includes(observer)) observer.entry(key, raw)
    }
    if (this.#observers.includes(observer)) observer.freshness(this.#freshness)
  }

  /** Removes an observer, and returns whether it was the last one. */
  leave(observer: GlobObserver): boolean {
    const before = this.#observers.length
    this.#observers = this.#observers.filter(other => other !== observer)
    return this.#observers.length === 0 && before > 0
  }

  connected(): void {
    this.#isConnected = true
    this.#isUnsupported = false
    this.#isRefused = false
    this.#registration = registerGlob(this.glob, this.#options, {
      registered: position => this.#registered(position),
      unsupported: isUnknown => this.#unsupported(isUnknown),
      found: keys => {
        for (const key of keys) this.#found(key)
      },
      listed: () => {
        this.#isListed = true
        this.#updateFreshness()
      },
      report: this.#host.report,
      scanInterval: () => this.#limits.scanInterval,
    }).subscribe({ error: error => this.#host.failed(error) })
    // A synchronous response may have ended the connection.
    if (!this.#isConnected) this.#cancel()
    // Comes last because an observer may end the glob.
    this.#updateFreshness()
  }

  disconnected(): void {
    this.#cancel()
    this.#isListed = false
    this.#registeredAt = undefined
    this.#updateFreshness()
  }

  onChange({ key, change, certain }: UnmatchedChange): void {
    const { op, version } = change
    if (!this.#canNotify || op !== 'set' || this.#members.has(key.id) || !this.#matcher.matches(key.bytes)) return
    const isFirst =
      certain &&
      this.isRegistered &&
      version &&
      this.#registeredAt &&
      change.value &&
      version.compareTo(this.#registeredAt) > 0
    this.#add(key, isFirst ? 'appeared' : 'changed')
  }

  end(error: StateStoreError | undefined): void {
    const observers = this.#observers
    const ended = freshnessAtEnd(this.#state, this.#options.clock.now(), this.#host.lostAt())
    this.#observers = []
    this.#cancel()
    for (const member of Array.from(this.#members.values())) this.#leave(member)
    for (const observer of observers) {
      observer.freshness(ended)
      if (error) observer.error(error)
      else observer.complete()
    }
  }

  /** Handles a changed entry of a key. @param isVisible - false for the deletion of a key that was never reported */
  memberChanged(member: GlobMember, isVisible: boolean): void {
    const { key, raw } = member
    if (raw?.op === 'set') this.#tombstones.delete(member)
    else this.#tombstones.add(member)
    if (raw && isVisible) for (const observer of this.#observers) observer.entry(key, raw)
    this.#trimTombstones(member)
    this.#checkLimit()
  }

  syncedChanged(delta: 1 | -1): void {
    this.#synced += delta
    const areAllSynced = this.#synced === this.#members.size
    this.#hasUnsynced = !areAllSynced && (this.#hasUnsynced || delta < 0)
    this.#updateFreshness()
  }

  /** Handles the failed watch of a key. Without permission to read the key, the glob continues without it. */
  memberLost(member: GlobMember, error: StateStoreError): void {
    this.#forget(member, undefined)
    if (error.code !== 'not-authorized') this.#host.failed(error)
  }

  /** Whether the store notifies by globs. Assumed to be true until the store rejects the registration. */
  get #canNotify(): boolean {
    return this.#isConnected && !this.#isUnsupported
  }

  get #freshness(): Freshness {
    return this.#state === 'stale' ? { state: 'stale', since: this.#host.lostAt() } : { state: this.#state }
  }

  #registered(position: Hlc | undefined): void {
    this.#registeredAt = position
    this.#setNotifying(true)
    for (const { key } of Array.from(this.#members.values())) this.#host.watches.confirmShared(key, this)
  }

  #unsupported(isUnknown: boolean): void {
    this.#setNotifying(false)
    this.#isRefused = isUnknown
    for (const { key } of Array.from(this.#members.values()))
      this.#host.watches.replaceShared(key, this, this.#host.otherGlobFor(key.id, this))
  }

  #setNotifying(isNotifying: boolean): void {
    // Changes between the last scan and this switch may be missing, so the glob is live only after another scan.
    if (isNotifying === this.#isUnsupported) this.#isListed = false
    this.#isUnsupported = !isNotifying
    this.isRegistered = isNotifying
    this.#updateFreshness()
  }

  #found(bytes: Uint8Array): void {
    const key = toKeyName(bytes)
    if (this.#isConnected && bytes.length <= MAX_WATCHED_KEY_BYTES && !this.#members.has(key.id))
      this.#add(key, 'found')
  }

  #add(key: KeyName, discovery: Discovery): void {
    const member = new GlobMember(key, this)
    this.#members.set(key.id, member)
    const registration = this.#isUnsupported ? undefined : this
    member.watch = this.#host.watches.joinShared(key, member, { registration, discovery })
    this.#checkLimit()
  }

  #checkLimit(): void {
    const { maxKeys } = this.#limits
    if (this.#members.size - this.#tombstones.size <= maxKeys) return
    this.#host.failed(tooManyKeys(this.glob, maxKeys))
  }

  #cancel(): void {
    this.#isConnected = false
    this.isRegistered = false
    this.#registration?.unsubscribe()
    this.#registration = undefined
  }

  /** @param current - the member whose entry is being reported; it is kept */
  #trimTombstones(current: GlobMember): void {
    this.#tombstones.trim(this.#limits.maxKeys, member => {
      const floor = this.#host.watches.floorOf(member.key)
      const isNeeded = member.hasOtherObservers(this) && !this.#host.otherGlobFor(member.key.id, this)?.isRegistered
      if (member === current || floor === 'unsettled' || isNeeded) return false
      this.#forget(member, floor)
      return true
    })
  }

  /**
   * Forgets a key. Raises the position to the key's floor, so that older changes of the key do not count as its first.
   */
  #forget(member: GlobMember, floor: Hlc | undefined): void {
    if (floor === undefined || (this.#registeredAt && floor.compareTo(this.#registeredAt) > 0))
      this.#registeredAt = floor
    this.#members.delete(member.key.id)
    this.#tombstones.delete(member)
    this.#leave(member)
    this.#updateFreshness()
  }

  #leave(member: GlobMember): void {
    const { watches, otherGlobFor } = this.#host
    member.leave()
    watches.leave(member.key, member, 0)
    watches.replaceShared(member.key, this, otherGlobFor(member.key.id, this))
  }

  #updateFreshness(): void {
    const state = this.#nextState()
    if (state === this.#state) return
    this.#state = state
    const freshness = this.#freshness
    for (const observer of inTurn(this.#observers, freshness)) {
      // An observer caused a newer state, which was already sent to all observers.
      if (this.#state !== state) return
      observer.freshness(freshness)
    }
  }

  #nextState(): Freshness['state'] {
    if (!this.#isConnected && this.#state !== 'connecting') return 'stale'
    // A live glob stays live while a new key is read.
    const wasLive = this.#state === 'live' && !this.#hasUnsynced
    if (this.#isListed && (wasLive || this.#synced === this.#members.size)) return 'live'
    return this.#state === 'connecting' ? 'connecting' : 'resyncing'
  }
}

/** `scanInterval` applies to stores that do not notify by globs. */
export interface GlobOptions {
  readonly maxKeys: number
  readonly scanInterval: number
}

export interface GlobHost {
  readonly watches: KeyWatches
  readonly report: (error: StateStoreError) => void
  /** Returns the time when the last connection was lost, ms since the Unix epoch. */
  readonly lostAt: () => number
  /** Returns another glob whose registration serves the key, preferably a confirmed one. */
  readonly otherGlobFor: (key: string, not: SharedRegistration) => SharedRegistration | undefined
  readonly failed: (error: StateStoreError) => void
}

function freshnessAtEnd(state: Freshness['state'], now: number, lostAt: number): Freshness {
  return state === 'connecting' ? { state } : { state: 'stale', since: state === 'live' ? now : lostAt }
}

const tooManyKeys = (glob: Uint8Array, maxKeys: number): StateStoreError =>
  new StateStoreError(
    'overflow',
    `More than ${maxKeys} keys match ${new TextDecoder().decode(glob)}: raise \`maxKeys\` or use a narrower glob`,
  )
