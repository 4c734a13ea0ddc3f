import type { Hlc } from '../../core/hlc/hlc.js'
import type { Notification } from '../../core/protocol/notifications.js'
import type { CommandError } from '../../core/protocol/parse-command.js'
import type { Reply } from '../../core/protocol/replies.js'

/** A change of a key, to be told to its watchers. */
export interface Change {
  readonly key: Uint8Array
  readonly notification: Notification
  readonly version: Hlc
}

/** The answer to a request, and what changed by it. */
export interface Answer {
  readonly reply: Reply
  /** `__ts` of the response. */
  readonly version: Hlc | undefined
  /** The last version given to any key, when a read found none: its place among the changes. */
  readonly position?: Hlc | undefined
  readonly changes: readonly Change[]
  /** What a page of a scan took, bytes of keys that were compared, times the words of the globs; default nothing. */
  readonly work?: number
  /** Whether it was given before, to the same request; default not. */
  readonly repeated?: true
}

/** Hears what becomes of an entry, in its order. */
export interface Applier {
  /** Keys are gone, as their time was over. */
  expired(changes: readonly Change[]): void
  /** A command of the entry, by its place, was done. */
  answered(index: number, answer: Answer): void
  /** A load was done, or refused with {@link CommandError}, and then changed nothing. */
  loaded(index: number, outcome: Restoration | CommandError): void
}

/** What a load came to. */
export interface Restoration {
  readonly changes: readonly Change[]
  /** Number of keys that were set, and of those of them that kept the version of the dump. */
  readonly loaded: number
  readonly versionsKept: number
  /** Number of keys whose time was over already; they were left alone. */
  readonly expired: number
  readonly deleted: number
}
