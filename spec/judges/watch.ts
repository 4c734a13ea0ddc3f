import { Hlc } from '../../src/core/hlc/hlc.js'
import type { Change } from './history.js'

/** An entry as it was recorded. */
export interface Seen {
  /** number of the connection it came over */
  connection: number
  connectedAt: number
  /** whether the watch was known to be live */
  isLive: boolean
  op: 'set' | 'delete' | 'absent'
  value: string
  version: string | undefined
  source: 'snapshot' | 'notification' | 'resync'
}

/** Holds one subscriber of a key to the promises of a watch, entry by entry. */
export class WatchJudge {
  #changes
  #versions
  #last: Seen | undefined
  /** The change that was seen last. */
  #change: Change | undefined
  /** Whether an entry before the last one, or that, was live. */
  #wasLive = false
  #keepsRegistrations
  /** Whether it is certain that it was this one: a value may be written twice, and a deletion says little. */
  #isCertain = false
  #isUnique = false
  /** Newest version of the store that is watched, and which store that is. */
  #newest = { life: -1, version: '' }
  #trail: Seen[] = []

  /**
   * @param changes - of the key
   * @param versions - of values, as their writers and others were told
   * @param keepsRegistrations - whether the store does not see connections end
   */
  constructor(changes: readonly Change[], versions: Map<string, Set<string>>, keepsRegistrations: boolean = false) {
    this.#keepsRegistrations = keepsRegistrations
    this.#changes = changes
    this.#versions = versions
  }

  /** What is wrong with the next entry. */
  judge(seen: Seen): string[] {
    this.#wasLive ||= this.#last?.isLive ?? false
    const wrong = seen.op === 'set' ? this.#judgeSet(seen) : this.#judgeGone(seen)
    this.#last = seen
    this.#trail = [...this.#trail.slice(-4), seen]
    return wrong.filter(complaint => complaint !== undefined)
  }

  /** Of the change that was seen last, -1 before the first; not known if its value was written twice. */
  get place() {
    if (this.#change === undefined) return -1
    return this.#isUnique ? this.#change.place : undefined
  }

  /** What was seen, and what happened about that time. */
  get story() {
    const at = this.#change === undefined ? 0 : this.#changes.indexOf(this.#change)
    const lines = [
      ...this.#trail.map(line),
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
    const wrong = [this.#judgeVersion(seen, change.life, written.length === 1), this.#judgeGap(seen, change)]
    // Whatever happened before the connection was made, its first read has shown. A store beside its broker may still have
    // told it to registrations of an earlier client; that is over with the first read.
    if (
      (this.#keepsRegistrations ? this.#wasLive : this.#last) &&
      source === 'notification' &&
      (written.at(-1)?.at ?? 0) < connectedAt
    )
      wrong.push('a change that an earlier read knew')
    this.#change = change
    this.#isUnique = written.length === 1
    // What a late subscriber sees first may be of an earlier connection.
    this.#isCertain = this.#isUnique && (this.#last !== undefined || seen.isLive)
    return wrong
  }

  #judgeGone(seen: Seen) {
    if (this.#last && this.#last.op !== 'set') return ['it was gone already']
    if (seen.op === 'absent' || this.#last === undefined) return []
    if (this.#change === undefined || !this.#isSameConnection(seen)) {
      this.#isCertain = false
      return []
    }
    const wrong = [this.#judgeVersion(seen, this.#change.life, false)]
    const next = this.#changes[this.#changes.indexOf(this.#change) + 1]
    if (next?.op === 'gone') this.#change = next
    else if (!this.#change.expires && this.#isCertain)
      wrong.push('a deletion where there was none, or not all before it was told')
    return wrong
  }

  /** @param unique - whether the value was written once */
  #judgeVersion({ version, value }: Seen, life: number, unique: boolean) {
    if (version === undefined) return 'a change without a version'
    const { life: before, version: newest } = this.#newest
    this.#newest = { life, version }
    if (before === life && newest !== '' && Hlc.parse(version).compareTo(Hlc.parse(newest)) <= 0)
      return `a version that is not newer than ${newest}`
    if (!unique) return undefined
    const known = this.#versions.get(value)
    if (known && !known.has(version)) return `a version that its writer does not know: ${Array.from(known)}`
    if (!known) this.#versions.set(value, new Set([version]))
    return undefined
  }

  /**
   * After an entry that came over the same connection, none may be missing. Not so after an absent key: the protocol
   * gives it no version, so that changes right after it may be merged (README, "Limits").
   */
  #judgeGap(seen: Seen, change: Change) {
    if (!this.#isSameConnection(seen) || seen.source !== 'notification' || this.#change === undefined) return undefined
    if (this.#last?.op === 'absent' || !this.#isCertain) return undefined
    const skipped = this.#changes.indexOf(change) - this.#changes.indexOf(this.#change) - 1
    return skipped > 0 ? `${skipped} changes before it were not told` : undefined
  }

  #isSameConnection(seen: Seen) {
    return this.#last?.connection === seen.connection && this.#last.connectedAt === seen.connectedAt
  }
}

const line = (record: object) => `    ${JSON.stringify(record)}`
