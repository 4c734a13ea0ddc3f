import type { Hlc } from '../../core/hlc/hlc.js'
import { checkArgument } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import type { KeyHost } from '../keys/host.js'
import { checkToken } from '../keys/options.js'
import { HOST, StoreView } from '../keys/store-view.js'

/** A view of a client whose writes carry a fencing token. Made by {@link fenced}. */
export class FencedStore extends StoreView {
  override readonly [HOST]: KeyHost

  constructor(host: KeyHost) {
    super()
    this[HOST] = host
  }
}

/**
 * Returns a view of the client whose writes carry the token (`__ft`), through its keys and through operators. A key
 * written with a newer token rejects the write with `fencing-token-stale`. A key written with a token rejects later
 * writes without a token, until the key is deleted or expires. Throws `argument` for anything but a token.
 *
 * @example
 * ```ts
 * fenced(store, token).key('line-1\\speed', number).set(12).subscribe()
 * ```
 */
export function fenced(store: StoreView, token: Hlc | string): FencedStore {
  checkArgument(store instanceof StoreView, 'a store', store)
  // This check is needed because `checkToken` accepts `undefined`.
  if (token === undefined) throw new ArgumentError('Expected a fencing token, got `undefined`')
  const host = store[HOST]
  return new FencedStore({
    store: host.store,
    registry: host.registry,
    clock: host.clock,
    storeTime: host.storeTime,
    timeout: host.timeout,
    report: host.report,
    reportWrite: host.reportWrite,
    warn: host.warn,
    status$: host.status$,
    closeHooks: host.closeHooks,
    fencingToken: checkToken(token),
  })
}
