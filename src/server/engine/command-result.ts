import type { Hlc } from '../../core/hlc/hlc.js'
import type { Command, WriteCommand } from '../../core/protocol/commands.js'
import type { Notification } from '../../core/protocol/notifications.js'
import { CommandError } from '../../core/protocol/parse-command.js'
import type { Reply } from '../../core/protocol/replies.js'
import type { KnownServiceErrorCode } from '../../core/protocol/service-errors.js'

export interface KeyChange {
  readonly key: Uint8Array
  readonly notification: Notification
  readonly version: Hlc
  /** Whether the key expired, as opposed to being deleted by a client. */
  readonly isExpired?: true
  /** Whether the key did not exist before. */
  readonly isNew?: boolean
}

export interface CommandResult {
  readonly reply: Reply
  /** The version for the `__ts` property of the response. */
  readonly version: Hlc | undefined
  /** For a read that found no key, the newest version in the store, which orders the read among the changes. */
  readonly position?: Hlc | undefined
  readonly changes: readonly KeyChange[]
  /** The cost of a SCAN page: compared key bytes times glob words. Default: 0. */
  readonly work?: number | undefined
  /** Whether this repeats the reply to an earlier delivery of the same request. Default: false. */
  readonly repeated?: true
}

/** The result of a log entry or of one of its commands. */
export type EntryResult =
  /** The result of deleting keys that had expired before the first command, or volatile keys after a restart. */
  | { readonly type: 'expired'; readonly changes: readonly KeyChange[] }
  | { readonly type: 'answered'; readonly changes: readonly KeyChange[]; readonly answer: CommandResult }
  | { readonly type: 'loaded'; readonly changes: readonly KeyChange[]; readonly outcome: RestoreResult | CommandError }

export interface RestoreResult {
  readonly changes: readonly KeyChange[]
  /** The number of keys set, and the number of those that kept the dump's version. */
  readonly loaded: number
  readonly versionsKept: number
  /** The number of keys skipped because they had already expired. */
  readonly expired: number
  readonly deleted: number
}

export const NO_CHANGES: readonly KeyChange[] = []

/**
 * Returns the reply to a failed command. Rethrows any error that is not a {@link CommandError}, because it is a bug.
 */
export const errorResult = (error: unknown): CommandResult => ({
  reply: { type: 'error', code: codeOf(error) },
  version: undefined,
  changes: NO_CHANGES,
})

function codeOf(error: unknown): KnownServiceErrorCode {
  if (error instanceof CommandError) return error.code
  throw error
}

export interface RawClocks {
  /** The user property `__ts`. */
  readonly timestamp?: string | undefined
  /** The user property `__ft`. */
  readonly fencingToken?: string | undefined
}

export interface Query extends RawClocks {
  readonly command: Exclude<Command, WriteCommand>
}
