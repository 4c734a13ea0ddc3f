import { type Glob, globOf } from '../../core/protocol/glob.js'
import { CommandError } from '../../core/protocol/parse-command.js'

export type { Glob } from '../../core/protocol/glob.js'

const LONGEST_GLOB = 1_024

/** A glob of a request, ready to match. Raises {@link CommandError} `syntax-error` for more than 1,024 bytes. */
export function compileGlob(glob: Uint8Array): Glob {
  if (glob.length > LONGEST_GLOB) throw new CommandError('syntax-error')
  return globOf(glob)
}
