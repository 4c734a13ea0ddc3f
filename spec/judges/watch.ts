import { Hlc } from '../../src/core/hlc/hlc.js'
import type { StoreChange } from './store-history.js'

export interface Seen {
  connection: number
  connectedAt: number
  isLive: boolean
  op: 'set' | 'delete' | 'absent'
  value: string
  version: string | undefined
  source: 'snapshot' | 'notification' | 'resync'
}

/** A judge of the entries of one subscriber of a key, which checks the guarantees of a watch. */
export class WatchJudge {
  #changes
  #versions
  #last: Seen | undefined
  #change: StoreChange | undefined
  #wasLive = false
  #keepsRegistrations
  /** Whether the change is certain. It is not if a value was written twice, or for a deletion, which has no value. */
  #isCertain = false
  #isUnique = false
  /** The newest version of the watched store, and the number of that store. */
  #newest = { life: -1, version: '' }
  #recentEntries: Seen[] = []

  /**
   * @param changes - the changes of the key
   * @param versions - the versions of values, as returned to writers and shown to others
   * @param keepsRegistrations - whether registrations outlive connections because the store does not see them end
   */
  constructor(
    changes: readonly StoreChange[],
    versions: Map<string, Set<string>>,
    keepsRegistrations: boolean = false,
  ) {
    this.#keepsRegistrations = keepsRegistrations
    this.#changes = changes
    this.#versions = versions
  }

  /** Returns the violations of the next entry. */
  judge(seen: Seen): string[] {
    this.#wasLive ||= this.#last?.isLive ?? false
    const violations = seen.op === 'set' ? this.#judgeSet(seen) : this.#judgeAbsent(seen)
    this.#last = seen
    this.#recentEntries = [...this.#recentEntries.slice(-4), seen]
    return violations.filter(violation => violation !== undefined)
  }

  /**
   * The position of the last change seen, -1 before the first change, or `undefined` if its value was written twice.
   */
  get position() {
    if (this.#change === undefined) return -1
    return this.#isUnique ? this.#change.place : undefined
  }

  /** The last entries seen, and the changes around them. */
  get context() {
    const at = this.#change === undefined ? 0 : this.#changes.indexOf(this.#change)
    const lines = [
      ...this.#recentEntries.map(line),
      '    the store:',
      ...this.#changes.slice(Math.max(0, at - 3), at + 5).map(line),
    ]
    return `\n${lines.join('\n')}`
  }

  #judgeSet(seen: Seen) {
    const { value, source, connectedAt } = seen
    const last = this.#change
    const written = this.#changes.filter(change => change.op === 'set' && change.value === value)
    const change = written.find(({ place }) => last === undefined || place > last.place)
    if (written.length === 0) return ['a value that was never written']
    if (change === undefined)
      return [last?.value === value ? 'an entry that was repeated' : 'an entry older than before']
    const violations = [this.#judgeVersion(seen, change.instance, written.length === 1), this.#judgeGap(seen, change)]
    // The first read of a connection includes everything that happened before. A store attached to a broker may still
    // notify registrations of an earlier client, but only until the first read.
    if (
      (this.#keepsRegistrations ? this.#wasLive : this.#last) &&
      source === 'notification' &&
      (written.at(-1)?.latest ?? 0) < connectedAt
    )
      violations.push('a change that an earlier read included')
    this.#change = change
    this.#isUnique = written.length === 1
    // The first entry of a late subscriber may be from an earlier connection.
    this.#isCertain = this.#isUnique && (this.#last !== undefined || seen.isLive)
    return violations
  }

  #judgeAbsent(seen: Seen) {
    if (this.#last && this.#last.op !== 'set') return ['the key was already absent']
    if (seen.op === 'absent' || this.#last === undefined) return []
    if (this.#change === undefined || !this.#isSameConnection(seen)) {
      this.#isCertain = false
      return []
    }
    const violations = [this.#judgeVersion(seen, this.#change.instance, false)]
    const next = this.#changes[this.#changes.indexOf(this.#change) + 1]
    if (next?.op === 'gone') this.#change = next
    else if (!this.#change.expires && this.#isCertain)
      violations.push('a deletion that never happened, or changes before it were missed')
    return violations
  }

  /** @param unique - whether the value was written only once */
  #judgeVersion({ version, value }: Seen, instance: number, unique: boolean) {
    if (version === undefined) return 'a change without a version'
    const { life: before, version: newest } = this.#newest
    this.#newest = { life: instance, version }
    if (before === instance && newest !== '' && Hlc.parse(version).compareTo(Hlc.parse(newest)) <= 0)
      return `a version that is not newer than ${newest}`
    if (!unique) return undefined
    const known = this.#versions.get(value)
    if (known && !known.has(version)) return `a version that its writer does not know: ${Array.from(known)}`
    if (!known) this.#versions.set(value, new Set([version]))
    return undefined
  }

  /**
   * No change may be missing after an entry of the same connection, except after an absent key. Its absence has no
   * version in the protocol, so that changes right after it may be merged (README, "Limits").
   */
  #judgeGap(seen: Seen, change: StoreChange) {
    if (!this.#isSameConnection(seen) || seen.source !== 'notification' || this.#change === undefined) return undefined
    if (this.#last?.op === 'absent' || !this.#isCertain) return undefined
    const skipped = this.#changes.indexOf(change) - this.#changes.indexOf(this.#change) - 1
    return skipped > 0 ? `${skipped} changes before it were missed` : undefined
  }

  #isSameConnection(seen: Seen) {
    return this.#last?.connection === seen.connection && this.#last.connectedAt === seen.connectedAt
  }
}

const line = (record: object) => `    ${JSON.stringify(record)}`
