import type { KeyName } from '../../core/protocol/commands.js'
import type { StateStoreError } from '../../core/util/errors.js'
import type { SharedRegistration, Watch, WatchObserver } from '../watch/watch.js'
import type { Freshness, RawEntry } from '../watch/watch-state.js'

/** What a key tells its glob. */
interface Group {
  told(member: GlobMember, isNews: boolean): void
  synced(more: 1 | -1): void
  lost(member: GlobMember, error: StateStoreError): void
}

/** A key of a watched glob, as its watch sees it. There may be ten thousand, so it is lean. */
export class GlobMember implements WatchObserver {
  readonly key: KeyName
  /** What was told last; nothing before there was such a key. */
  raw: RawEntry | undefined = undefined
  /** What it listens to, once it does. */
  watch: Watch | undefined = undefined
  readonly #group: Group
  #latest: RawEntry | undefined = undefined
  /** What its watch showed when it joined, and could not rely on. */
  #doubtful: RawEntry | undefined = undefined
  #hasJoined = false
  #isSynced = false
  #hasLeft = false

  constructor(key: KeyName, group: Group) {
    this.key = key
    this.#group = group
  }

  signal(raw: RawEntry | undefined, { state }: Freshness): void {
    if (this.#hasLeft) return
    if (!this.#hasJoined && state !== 'live') this.#doubtful = raw
    this.#hasJoined = true
    if (raw !== undefined && raw !== this.#latest && (state === 'live' || raw !== this.#doubtful)) {
      this.#latest = raw
      this.#tell(raw)
    }
    // What it told may have made it leave.
    if (!this.#hasLeft && (state === 'live') !== this.#isSynced) this.#sync(!this.#isSynced)
  }

  error(error: StateStoreError): void {
    if (this.#hasLeft) return
    if (error.code === 'not-authorized')
      this.#tell({ op: 'absent', value: undefined, version: undefined, source: 'resync', reason: 'unknown' })
    this.#group.lost(this, error)
  }

  complete(): void {}

  /** Whether somebody else listens to the key by this registration, who would have to begin anew without it. */
  isLentBy(cover: SharedRegistration): boolean {
    return this.watch?.cover === cover && this.watch.isShared
  }

  /** Tells nothing more. */
  leave(): void {
    if (this.#isSynced) this.#sync(false)
    this.#hasLeft = true
  }

  #sync(isSynced: boolean): void {
    this.#isSynced = isSynced
    this.#group.synced(isSynced ? 1 : -1)
  }

  /** A key that was not there has not gone. */
  #tell(raw: RawEntry): void {
    const isNews = raw.op === 'set' || this.raw?.op === 'set'
    if (isNews) this.raw = raw
    this.#group.told(this, isNews)
  }
}

/** So many are remembered at most; of few keys a part. */
const MOST = 1_000
/** So many are looked at in one go, lest those that have to stay make every change dear. */
const LOOKED_AT = 8

/** The keys of a glob that there are no more, in the order they went, so that nothing older is told of them. */
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

  /** Has the oldest forgotten when there are many; those that have to stay are asked for again behind all others. */
  trim(maxKeys: number, forget: (member: GlobMember) => boolean): void {
    const most = Math.min(MOST, Math.ceil(maxKeys / 4))
    for (let looked = 0; looked < LOOKED_AT && this.#members.size > most; looked++) {
      const [oldest] = this.#members
      if (oldest === undefined) return
      this.#members.delete(oldest)
      if (!forget(oldest)) this.#members.add(oldest)
    }
  }
}
