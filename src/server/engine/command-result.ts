import type { Hlc } from '../../core/hlc/hlc.js'
import type { Command, WriteCommand } from '../../core/protocol/commands.js'
import type { Notification } from '../../core/protocol/notifications.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import type { Reply } from '../../core/protocol/replies.js'
import type { KnownServiceErrorCode } from '../../core/protocol/service-errors.js'

/** A change of a key, to be told to its watchers. */
export interface Change {
  readonly key: Uint8Array
  readonly notification: Notification
  readonly version: Hlc
  /** The time of the key was over; a deletion without it was asked for. */
  readonly isExpired?: true
}

/** The answer to a request, and what changed by it. */
export interface CommandResult {
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

/** What came of an entry, or of one of its commands. */
export type Applied =
  /** Keys are gone: their time was over before the first command, or the store starts again without them. */
  | { readonly type: 'expired'; readonly changes: readonly Change[] }
  /** A write was done. */
  | { readonly type: 'answered'; readonly changes: readonly Change[]; readonly answer: CommandResult }
  /** A load was done, or rejected, and then changed nothing. */
  | { readonly type: 'loaded'; readonly changes: readonly Change[]; readonly outcome: Restoration | CommandError }

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

/** No change. */
export const NONE: readonly Change[] = []

/** The answer to what cannot be done. Throws all but a {@link CommandError}: that is a mistake of ours. */
export const refusal = (error: unknown): CommandResult => ({
  reply: { type: 'error', code: codeOf(error) },
  version: undefined,
  changes: NONE,
})

function codeOf(error: unknown): KnownServiceErrorCode {
  if (error instanceof CommandError) return error.code
  throw error
}

/** The two clock properties of a request, as they came. */
export interface RawClocks {
  /** `__ts` */
  readonly timestamp?: string | undefined
  /** `__ft` */
  readonly fencingToken?: string | undefined
}

/** A request that changes no record. */
export interface Query extends RawClocks {
  readonly command: Exclude<Command, WriteCommand>
}
