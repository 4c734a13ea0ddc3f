import type { Hlc } from '../../core/hlc/hlc.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'
import { checkToken } from '../keys/options.js'
import type { KeyHost } from '../keys/source.js'
import { HOST, StoreView } from '../keys/store-view.js'

/** A view of a store whose writes carry a fencing token; made by {@link fenced}. */
export class FencedStore extends StoreView {
  override readonly [HOST]: KeyHost

  constructor(host: KeyHost) {
    super()
    this[HOST] = host
  }
}

/**
 * The same store, with every write by it carrying the token (`__ft`), whether by its keys or by operators on it. A key
 * that was written with a newer token refuses: `fencing-token-stale`. From then on the key takes no write without a
 * token. Throws `argument` unless it is a token.
 *
 * @example
 * ```ts
 * fenced(store, token).key('line-1\\speed', number).set(12).subscribe()
 * ```
 */
export function fenced(store: StoreView, token: Hlc | string): FencedStore {
  if (!(store instanceof StoreView)) throw new ArgumentError(`Expected a store, got \`${formatValue(store)}\``)
  // Only here: a write without a token is fine, a fence without one is not.
  if (token === undefined) throw new ArgumentError('Expected a fencing token, got `undefined`')
  const host = store[HOST]
  return new FencedStore({
    store: host.store,
    registry: host.registry,
    timeout: host.timeout,
    report: host.report,
    warn: host.warn,
    link$: host.link$,
    closeHooks: host.closeHooks,
    fencingToken: checkToken(token),
  })
}
