import type { KeyName } from '../../core/protocol/commands.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { Freshness } from '../watch/freshness.js'
import { BOTH, type SharedRegistration, type Watch, type WatchObserver } from '../watch/watch.js'
import type { RawEntry } from '../watch/watch-state.js'

interface Group {
  memberChanged(member: GlobMember, isVisible: boolean): void
  syncedChanged(delta: 1 | -1): void
  memberLost(member: GlobMember, error: StateStoreError): void
}

/**
 * A key of a watched glob, which observes the key's watch. Kept small, because a glob may have ten thousand keys.
 */
export class GlobMember implements WatchObserver {
  readonly emits = BOTH
  readonly key: KeyName
  /** The last reported entry; `undefined` before the key existed. */
  raw: RawEntry | undefined = undefined
  watch: Watch | undefined = undefined
  readonly #group: Group
  #latest: RawEntry | undefined = undefined
  /** The entry that the watch had when this member joined, if the watch was not live. */
  #unverified: RawEntry | undefined = undefined
  #hasJoined = false
  #isSynced = false
  #hasLeft = false

  constructor(key: KeyName, group: Group) {
    this.key = key
    this.#group = group
  }

  signal(entries: readonly RawEntry[], { state }: Freshness): void {
    if (this.#hasLeft) return
    if (!this.#hasJoined && state !== 'live') this.#unverified = entries.at(-1)
    this.#hasJoined = true
    for (const raw of entries) {
      if (this.#hasLeft || raw === this.#latest || (state !== 'live' && raw === this.#unverified)) continue
      this.#latest = raw
      this.#report(raw)
    }
    if (!this.#hasLeft && (state === 'live') !== this.#isSynced) this.#setSynced(!this.#isSynced)
  }

  error(error: StateStoreError): void {
    if (this.#hasLeft) return
    if (error.code === 'not-authorized')
      this.#report({ op: 'absent', value: undefined, version: undefined, source: 'resync', reason: 'unknown' })
    this.#group.memberLost(this, error)
  }

  complete(): void {}

  /** Returns whether other observers of the key depend on this registration and would need another one. */
  hasOtherObservers(registration: SharedRegistration): boolean {
    return this.watch?.registration === registration && this.watch.isShared
  }

  leave(): void {
    if (this.#isSynced) this.#setSynced(false)
    this.#hasLeft = true
  }

  #setSynced(isSynced: boolean): void {
    this.#isSynced = isSynced
    this.#group.syncedChanged(isSynced ? 1 : -1)
  }

  /** Reports an entry. The deletion of a key that did not exist is not visible. */
  #report(raw: RawEntry): void {
    const isVisible = raw.op === 'set' || this.raw?.op === 'set'
    if (isVisible) this.raw = raw
    this.#group.memberChanged(this, isVisible)
  }
}

const MAX_TOMBSTONES = 1_000
/**
 * Maximum number of tombstones that are checked per trim. Bounds the cost of each change while the oldest tombstones
 * cannot be forgotten.
 */
const MAX_CHECKED_PER_TRIM = 8

/** Deleted keys of a glob in order of deletion, remembered so that older changes are not emitted. */
export class KeyTombstones {
  readonly #members = new Set<GlobMember>()

  get size(): number {
    return this.#members.size
  }

  add(member: GlobMember): void {
    this.#members.add(member)
  }

  delete(member: GlobMember): void {
    this.#members.delete(member)
  }

  /**
   * Forgets the oldest tombstones beyond the limit: `maxKeys / 4`, at most 1,000. Tombstones that are still needed move
   * to the end.
   */
  trim(maxKeys: number, forget: (member: GlobMember) => boolean): void {
    const limit = Math.min(MAX_TOMBSTONES, Math.ceil(maxKeys / 4))
    for (let checked = 0; checked < MAX_CHECKED_PER_TRIM && this.#members.size > limit; checked++) {
      const [oldest] = this.#members
      if (oldest === undefined) return
      this.#members.delete(oldest)
      if (!forget(oldest)) this.#members.add(oldest)
    }
  }
}
