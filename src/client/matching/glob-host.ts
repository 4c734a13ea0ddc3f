import { StateStoreError } from '../../core/util/errors.js'
import type { CoveredWatches } from '../watch/cover.js'
import type { Freshness } from '../watch/freshness.js'
import type { Cover } from '../watch/watch.js'

/** How many keys a glob may have, and how often a store is scanned that does not tell of new ones. */
export interface Terms {
  readonly maxKeys: number
  /** ms */
  readonly scanInterval: number
}

/** What a watched glob needs of the client. */
export interface GlobHost {
  readonly watches: CoveredWatches
  readonly report: (error: StateStoreError) => void
  /** When the last connection was lost, ms since the Unix epoch. */
  readonly lostAt: () => number
  /** Another glob that stands in for a key, or is about to; preferably one that does. */
  readonly other: (key: string, not: Cover) => Cover | undefined
  /** No later attempt can succeed. */
  readonly failed: (error: StateStoreError) => void
}

/** What a glob that is not watched any more says of itself. Times in ms since the Unix epoch. */
export function endedFreshness(state: Freshness['state'], now: number, lostAt: number): Freshness {
  return state === 'connecting' ? { state } : { state: 'stale', since: state === 'live' ? now : lostAt }
}

/** With what a glob ends of which there are more keys than may be. */
export const tooManyKeys = (glob: Uint8Array, maxKeys: number): StateStoreError =>
  new StateStoreError(
    'overflow',
    `More than ${maxKeys} keys fit ${new TextDecoder().decode(glob)}: see \`maxKeys\`, or watch fewer`,
  )
