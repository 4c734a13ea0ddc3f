import { ArgumentError } from '../../core/util/errors.js'
import type { Hub } from '../hub/hub.js'

/** Of the bridges of each hub. */
const TAKEN = new WeakMap<Hub, Set<string>>()

/**
 * Takes a prefix for a bridge; the returned function gives it back. Throws {@link ArgumentError} for one that begins with
 * that of another bridge, or the other way round: both would decide about the same groups, and send to them.
 */
export function takePrefix(hub: Hub, prefix: string): () => void {
  const taken = TAKEN.get(hub) ?? new Set()
  for (const other of taken) {
    if (!prefix.startsWith(other) && !other.startsWith(prefix)) continue
    throw new ArgumentError(
      `Expected a \`prefix\` that does not overlap with ${JSON.stringify(other)} of another bridge of hub ` +
        `${JSON.stringify(hub.name)}, got ${JSON.stringify(prefix)}: choose prefixes of which none begins with another`,
    )
  }
  taken.add(prefix)
  TAKEN.set(hub, taken)
  return () => void taken.delete(prefix)
}
