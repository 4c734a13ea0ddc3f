import { checkObject } from '../../core/util/check.js'
import type { AttachedStore } from './attached-store.js'
import { type AttachOptions, settingsFrom } from './options.js'

/**
 * Serves a state store through a broker of somebody else (MQTT 5): connects to it as a client, takes the requests of the
 * others, answers them and tells watchers. Returns when it has begun; it waits for the broker, comes back after every cut,
 * and waits while another one serves: see {@link AttachedStore.state$}. Throws `argument` for wrong options, and for a policy
 * where the broker does not vouch for who asks.
 *
 * @example
 * ```ts
 * await using store = await attach('mqtt://localhost', { data: './state' })
 * store.state$.subscribe(({ state }) => console.log(state))
 * ```
 */
export async function attach(url: string, options: AttachOptions = {}): Promise<AttachedStore> {
  checkObject('options', options)
  const settings = settingsFrom(options)
  // It brings mqtt.js along, which a store with a broker of its own does not need.
  const { AttachedStoreHandle } = await import('./attached-store-handle.js')
  return new AttachedStoreHandle(url, settings)
}
