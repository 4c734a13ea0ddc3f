import { CommandError } from '../../core/protocol/parse-command.js'
import type { KnownServiceErrorCode } from '../../core/protocol/service-errors.js'
import type { Answer, Change } from './answer.js'

/** No change. */
export const NONE: readonly Change[] = []

/** The answer to what cannot be done. Throws all but a {@link CommandError}: that is a mistake of ours. */
export const refusal = (error: unknown): Answer => ({
  reply: { type: 'error', code: codeOf(error) },
  version: undefined,
  changes: NONE,
})

function codeOf(error: unknown): KnownServiceErrorCode {
  if (error instanceof CommandError) return error.code
  throw error
}
