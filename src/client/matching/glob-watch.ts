import type { Subscription } from 'rxjs'
import type { Hlc } from '../../core/hlc/hlc.js'
import type { KeyName } from '../../core/protocol/commands.js'
import { type Glob, globOf } from '../../core/protocol/glob.js'
import { StateStoreError } from '../../core/util/errors.js'
import { toKeyName } from '../watch/key-name.js'
import type {
  Arrival,
  CoveredWatches,
  GlobObserver,
  RegistryOptions,
  UnmatchedChange,
} from '../watch/shared-registration.js'
import type { SharedRegistration } from '../watch/watch.js'
import type { Freshness } from '../watch/watch-state.js'
import { GlobMember, KeyTombstones } from './glob-member.js'
import { registerGlob } from './register-glob.js'

/** A longer key cannot be watched, bytes: its notification topic would be longer than MQTT allows. */
const LONGEST_KEY = 30_000

/** A watched glob of a client. Every key of it is a watch of the registry; this one says which keys there are. */
export class GlobWatch implements SharedRegistration {
  readonly glob: Uint8Array
  registered = false
  readonly #options: RegistryOptions
  readonly #host: GlobHost
  readonly #matcher: Glob
  readonly #members = new Map<string, GlobMember>()
  readonly #gone = new KeyTombstones()
  #observers: readonly GlobObserver[] = []
  #terms: Terms = { maxKeys: 1, scanInterval: Number.POSITIVE_INFINITY }
  #flow: Subscription | undefined
  #state: Freshness['state'] = 'connecting'
  #isConnected = false
  #isForeign = false
  #isRefused = false
  #isListed = false
  /** Of a key that was known on this connection that is not known any more. */
  #isUnsure = false
  #synced = 0
  /** A change of an unknown key with a newer version is the first of it since the glob is registered. */
  #since: Hlc | undefined

  constructor(glob: Uint8Array, options: RegistryOptions, host: GlobHost) {
    this.glob = glob
    this.#options = options
    this.#host = host
    this.#matcher = globOf(glob)
  }

  /** Whether it asks on a connection. */
  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Whether the store may have a registration for it. */
  get mayBeRegistered(): boolean {
    return this.#isConnected && !this.#isRefused
  }

  /** Whether it stands in for the registration of a key, or is about to. */
  covers(id: string): boolean {
    return this.#isTold && this.#members.has(id)
  }

  join(terms: Terms, observer: GlobObserver): void {
    this.#terms = {
      maxKeys: Math.max(terms.maxKeys, this.#terms.maxKeys),
      scanInterval: Math.min(terms.scanInterval, this.#terms.scanInterval),
    }
    this.#observers = this.#observers.concat(observer)
    for (const { key, raw } of Array.from(this.#members.values())) {
      if (raw?.op === 'set' && this.#observers.includes(observer)) observer.entry(key, raw)
    }
    if (this.#observers.includes(observer)) observer.freshness(this.#freshness)
  }

  /** Whether it was the last one. */
  leave(observer: GlobObserver): boolean {
    const before = this.#observers.length
    this.#observers = this.#observers.filter(other => other !== observer)
    return this.#observers.length === 0 && before > 0
  }

  connected(): void {
    this.#isConnected = true
    this.#isForeign = false
    this.#isRefused = false
    this.#flow = registerGlob(this.glob, this.#options, {
      registered: position => this.#registered(position),
      foreign: isUnheard => this.#foreign(isUnheard),
      found: keys => {
        for (const key of keys) this.#found(key)
      },
      listed: () => {
        this.#isListed = true
        this.#changed()
      },
      report: this.#host.report,
      scanInterval: () => this.#terms.scanInterval,
    }).subscribe({ error: error => this.#host.failed(error) })
    // It may be over with the first answer, if that came at once.
    if (!this.#isConnected) this.#cancel()
    // Last, for who is told may end it.
    this.#changed()
  }

  disconnected(): void {
    this.#cancel()
    this.#isListed = false
    this.#since = undefined
    this.#changed()
  }

  /** Takes a notification of a key that may be new. */
  stray({ key, change, certain }: UnmatchedChange): void {
    const { op, version } = change
    if (!this.#isTold || op !== 'set' || this.#members.has(key.id) || !this.#matcher.matches(key.bytes)) return
    const isFirst =
      certain && this.registered && version && this.#since && change.value && version.compareTo(this.#since) > 0
    this.#add(key, isFirst ? 'appeared' : 'heard')
  }

  /** Ends all that it has under way, and tells all listeners. */
  end(error: StateStoreError | undefined): void {
    const observers = this.#observers
    const ended = endedFreshness(this.#state, this.#options.clock.now(), this.#host.lostAt())
    this.#observers = []
    this.#cancel()
    for (const member of Array.from(this.#members.values())) this.#leave(member)
    for (const observer of observers) {
      observer.freshness(ended)
      if (error) observer.error(error)
      else observer.complete()
    }
  }

  /** A key of it has changed, or was found to be gone before it was told of. */
  told(member: GlobMember, isNews: boolean): void {
    const { key, raw } = member
    if (raw?.op === 'set') this.#gone.delete(member)
    else this.#gone.add(member)
    if (raw && isNews) for (const observer of this.#observers) observer.entry(key, raw)
    this.#forgetGone(member)
    this.#checkRoom()
  }

  /** A key of it is known on this connection now, or is not any more. */
  synced(more: 1 | -1): void {
    this.#synced += more
    const isAll = this.#synced === this.#members.size
    this.#isUnsure = !isAll && (this.#isUnsure || more < 0)
    this.#changed()
  }

  /** A key of it may not be read, or not be watched for another reason. */
  lost(member: GlobMember, error: StateStoreError): void {
    this.#forget(member, undefined)
    if (error.code !== 'not-authorized') this.#host.failed(error)
  }

  /** Whether the store tells of keys by itself, or is asked to. */
  get #isTold(): boolean {
    return this.#isConnected && !this.#isForeign
  }

  get #freshness(): Freshness {
    return this.#state === 'stale' ? { state: 'stale', since: this.#host.lostAt() } : { state: this.#state }
  }

  #registered(position: Hlc | undefined): void {
    this.#since = position
    this.#turn(true)
    for (const { key } of Array.from(this.#members.values())) this.#host.watches.covered(key, this)
  }

  #foreign(isUnheard: boolean): void {
    this.#turn(false)
    this.#isRefused = isUnheard
    for (const { key } of Array.from(this.#members.values()))
      this.#host.watches.uncover(key, this, this.#host.other(key.id, this))
  }

  #turn(isTold: boolean): void {
    // What came since the last scan is not known, nor what it went through.
    if (isTold === this.#isForeign) this.#isListed = false
    this.#isForeign = !isTold
    this.registered = isTold
    this.#changed()
  }

  #found(bytes: Uint8Array): void {
    const key = toKeyName(bytes)
    if (this.#isConnected && bytes.length <= LONGEST_KEY && !this.#members.has(key.id)) this.#add(key, 'found')
  }

  #add(key: KeyName, arrival: Arrival): void {
    const member = new GlobMember(key, this)
    this.#members.set(key.id, member)
    const cover = this.#isForeign ? undefined : this
    member.watch = this.#host.watches.cover(key, member, { cover, arrival })
    this.#checkRoom()
  }

  #checkRoom(): void {
    const { maxKeys } = this.#terms
    if (this.#members.size - this.#gone.size <= maxKeys) return
    this.#host.failed(tooManyKeys(this.glob, maxKeys))
  }

  #cancel(): void {
    this.#isConnected = false
    this.registered = false
    this.#flow?.unsubscribe()
    this.#flow = undefined
  }

  /** @param told - just now, or about to be told that it is there again */
  #forgetGone(told: GlobMember): void {
    this.#gone.trim(this.#terms.maxKeys, member => {
      const floor = this.#host.watches.floorOf(member.key)
      const isNeeded = member.isLentBy(this) && !this.#host.other(member.key.id, this)?.registered
      if (member === told || floor === 'unsettled' || isNeeded) return false
      this.#forget(member, floor)
      return true
    })
  }

  /** What is told of the key from now on may be older than what was told, but not than its floor. */
  #forget(member: GlobMember, floor: Hlc | undefined): void {
    if (floor === undefined || (this.#since && floor.compareTo(this.#since) > 0)) this.#since = floor
    this.#members.delete(member.key.id)
    this.#gone.delete(member)
    this.#leave(member)
    this.#changed()
  }

  #leave(member: GlobMember): void {
    const { watches, other } = this.#host
    member.leave()
    watches.leave(member.key, member, 0)
    watches.uncover(member.key, this, other(member.key.id, this))
  }

  #changed(): void {
    const state = this.#nextState()
    if (state === this.#state) return
    this.#state = state
    const freshness = this.#freshness
    for (const observer of this.#observers) {
      // What came of it meanwhile was told to all.
      if (this.#state !== state) return
      observer.freshness(freshness)
    }
  }

  #nextState(): Freshness['state'] {
    if (!this.#isConnected && this.#state !== 'connecting') return 'stale'
    // Once all is known, a key that comes does not make it unknown.
    const wasLive = this.#state === 'live' && !this.#isUnsure
    if (this.#isListed && (wasLive || this.#synced === this.#members.size)) return 'live'
    return this.#state === 'connecting' ? 'connecting' : 'resyncing'
  }
}

/** How many keys a glob may have, and how often a store is scanned that does not tell of new ones. */
export interface Terms {
  readonly maxKeys: number
  /** ms */
  readonly scanInterval: number
}

/** What a watched glob needs of the client. */
export interface GlobHost {
  readonly watches: CoveredWatches
  readonly report: (error: StateStoreError) => void
  /** When the last connection was lost, ms since the Unix epoch. */
  readonly lostAt: () => number
  /** Another glob that stands in for a key, or is about to; preferably one that does. */
  readonly other: (key: string, not: SharedRegistration) => SharedRegistration | undefined
  /** No later attempt can succeed. */
  readonly failed: (error: StateStoreError) => void
}

/** What a glob that is not watched any more says of itself. Times in ms since the Unix epoch. */
function endedFreshness(state: Freshness['state'], now: number, lostAt: number): Freshness {
  return state === 'connecting' ? { state } : { state: 'stale', since: state === 'live' ? now : lostAt }
}

/** With what a glob ends of which there are more keys than may be. */
const tooManyKeys = (glob: Uint8Array, maxKeys: number): StateStoreError =>
  new StateStoreError(
    'overflow',
    `More than ${maxKeys} keys fit ${new TextDecoder().decode(glob)}: see \`maxKeys\`, or watch fewer`,
  )
