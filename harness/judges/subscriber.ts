import { GlobJudge, globMatcher, NO_SEPARATE_WATCH } from './glob.js'
import type { Change, History } from './history.js'
import { type SeenEntry, WatchJudge } from './watch.js'

/** An entry that a subscriber received over a real connection, and its circumstances. Times are in monotonic ms. */
export interface ReceivedEntry extends SeenEntry {
  readonly version: string | undefined
  /** The number of lost connections. Entries with the same number arrived over the same connection. */
  readonly connection: number
  readonly connectedAt: number
  readonly isLive: boolean
  /** Whether the client watches nothing but one glob, and has reported no error on this connection. */
  readonly isOnlyWatcher: boolean
}

/** The store of this package sends positions and identifiers, so that entries are certain. */
const GUARANTEES = { hasPositions: true, hasDuplicates: false }
const CERTAIN = { position: undefined, isCertain: true, wasDelivered: true }
const MAX_RECENT = 5

/**
 * A judge of one subscriber of a key or a glob over a real connection. The time at which the store sent a message is
 * unknown there, so this judge derives from the connection which changes the {@link WatchJudge} may expect.
 */
export class SubscriberJudge {
  readonly #history: History
  readonly #hasLastingRegistrations: boolean
  readonly #glob: GlobJudge | undefined
  readonly #keys = new Map<string, { readonly judge: WatchJudge; readonly received: ReceivedEntry[] }>()
  #wasLive = false

  /**
   * @param glob - the watched glob, or `undefined` for a watched key
   * @param hasLastingRegistrations - whether registrations outlive connections, because the store does not see them end
   */
  constructor(history: History, glob: string | undefined, hasLastingRegistrations: boolean = false) {
    this.#history = history
    this.#hasLastingRegistrations = hasLastingRegistrations
    if (glob !== undefined)
      this.#glob = new GlobJudge(history, { ...GUARANTEES, everyChange: true, fits: globMatcher(glob) })
  }

  /** Records the time at which a watched glob became live, or `undefined` if it is not live. */
  setLive(since: number | undefined): void {
    const from = since === undefined ? undefined : this.#history.firstAfter(since)
    this.#glob?.setLive(since !== undefined, from, from)
  }

  judge(entry: ReceivedEntry): string[] {
    const { key, isOnlyWatcher } = entry
    const { judge, received } = this.#keys.get(key) ?? {
      judge: new WatchJudge(this.#history, key, GUARANTEES),
      received: [],
    }
    this.#keys.set(key, { judge, received })
    const last = received.at(-1)
    this.#wasLive ||= last?.isLive ?? false
    judge.setLive(!this.#isUncertain && isContinued(received, entry), undefined)
    const complaints = [
      last && last.op !== 'set' && entry.op !== 'set' ? 'the key was already absent' : undefined,
      this.#glob
        ? this.#glob.judge(entry, {
            ...CERTAIN,
            isOnlyWatcher,
            separateWatch: NO_SEPARATE_WATCH,
            hasNotifications: true,
          })
        : judge.judge(entry, CERTAIN),
      last && this.#judgeEarlierRead(entry),
    ]
    received.push(entry)
    if (received.length > MAX_RECENT) received.shift()
    return complaints.filter(complaint => complaint !== undefined)
  }

  /** Returns the last entries of a key, and the changes around the last one, for a report. */
  describe(key: string): string {
    const received = this.#keys.get(key)?.received ?? []
    const changes = this.#history.all.filter(change => change.key === key)
    const at = changes.findIndex(({ version }) => version === received.at(-1)?.version)
    const lines = [...received, 'the store:', ...changes.slice(Math.max(0, at - 3), at + 3)]
    return lines.map(line => `\n    ${JSON.stringify(line)}`).join('')
  }

  /**
   * Whether notifications may belong to a registration of an earlier client with the same id. Its late requests may
   * still end this registration.
   */
  get #isUncertain(): boolean {
    return this.#hasLastingRegistrations && !this.#wasLive
  }

  /**
   * Checks that a change before the connection is not notified, because the first read of the connection included it.
   * With lasting registrations, the store may still notify of it until that read.
   */
  #judgeEarlierRead({ key, version, source, connectedAt }: ReceivedEntry): string | undefined {
    if (source !== 'notification' || this.#isUncertain) return undefined
    const position = version === undefined ? undefined : this.#history.positionsOf(key, version).at(-1)
    const change: Change | undefined = position === undefined ? undefined : this.#history.all[position]
    return change && change.at < connectedAt ? 'a change that an earlier read included' : undefined
  }
}

/**
 * Returns whether no change may be missing between an entry and the one before. That is the case on one connection,
 * except after an absence, which has no version, and after the first entry of a subscriber, which may be from an earlier
 * connection unless it is a live value.
 */
function isContinued(received: readonly ReceivedEntry[], entry: ReceivedEntry): boolean {
  const last = received.at(-1)
  if (last === undefined || last.op === 'absent' || entry.source !== 'notification') return false
  const isFirst = received.length === 1 && !(last.isLive && last.op === 'set')
  return !isFirst && last.connection === entry.connection && last.connectedAt === entry.connectedAt
}
